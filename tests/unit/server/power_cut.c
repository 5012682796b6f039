#include "tests/unit/server/power_cut.h"

#include <dirent.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX    8
#define NAME_BYTES   32
#define SECTOR_BYTES 512

enum kind {
	WRITE,
	TRUNCATE,
	SYNC,
	DELETE
};

struct operation {
	enum kind kind;
	int file;
	sqlite3_int64 at; /* WRITE: offset; TRUNCATE: length */
	int len;
	uint8_t *data;
};

struct image {
	char name[NAME_BYTES];
	bool exists;
	uint8_t *data;
	size_t len;
};

static struct {
	char folder[PATH_MAX];
	sqlite3_vfs vfs, *real;
	struct image files[FILES_MAX]; /* as they were at the beginning */
	int file_count;
	struct operation *operations;
	size_t count, room;
} noted;

static void must(bool true_here)
{
	if (true_here)
		return;
	fputs("power_cut: no memory, or a file failed\n", stderr);
	_exit(EXIT_FAILURE); /* SQLite is among the callers */
}

/* ---- noting ---- */

/* @return the number of a file of the folder; -1: it is not noted, or new and not wanted */
static int file_of(const char *path, bool add)
{
	const size_t len = strlen(noted.folder);
	const char *name;

	if (!path || strncmp(path, noted.folder, len) != 0 || path[len] != '/')
		return -1;
	name = path + len + 1;
	for (int i = 0; i < noted.file_count; i++)
		if (strcmp(noted.files[i].name, name) == 0)
			return i;
	if (!add)
		return -1;
	must(noted.file_count < FILES_MAX && strlen(name) < NAME_BYTES);
	strcpy(noted.files[noted.file_count].name, name);
	return noted.file_count++;
}

static void note(enum kind kind, int file, sqlite3_int64 at, const void *data,
		 int len)
{
	struct operation *o;

	if (file < 0)
		return;
	if (noted.count == noted.room) {
		noted.room = noted.room ? 2 * noted.room : 256;
		noted.operations =
			realloc(noted.operations,
				noted.room * sizeof(*noted.operations));
		must(noted.operations);
	}
	o = &noted.operations[noted.count++];
	*o = (struct operation){
		.kind = kind, .file = file, .at = at, .len = len};
	if (len) {
		o->data = malloc((size_t)len);
		must(o->data);
		memcpy(o->data, data, (size_t)len);
	}
}

/* ---- the file system in between ---- */

struct file {
	sqlite3_file base;
	int number;
	sqlite3_file real; /* as long as that of the real file system */
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return &((struct file *)f)->real;
}

static int file_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int file_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
	return real_of(f)->pMethods->xRead(real_of(f), to, len, at);
}

static int file_write(sqlite3_file *f, const void *data, int len,
		      sqlite3_int64 at)
{
	note(WRITE, ((struct file *)f)->number, at, data, len);
	return real_of(f)->pMethods->xWrite(real_of(f), data, len, at);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 len)
{
	note(TRUNCATE, ((struct file *)f)->number, len, NULL, 0);
	return real_of(f)->pMethods->xTruncate(real_of(f), len);
}

static int file_sync(sqlite3_file *f, int flags)
{
	note(SYNC, ((struct file *)f)->number, 0, NULL, 0);
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static int file_lock(sqlite3_file *f, int lock)
{
	return real_of(f)->pMethods->xLock(real_of(f), lock);
}

static int file_unlock(sqlite3_file *f, int lock)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), lock);
}

static int file_reserved(sqlite3_file *f, int *ret)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int file_device(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend,
			void volatile **ret)
{
	return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend,
					     ret);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int file_shm_unmap(sqlite3_file *f, int remove)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
		    int flags, int *ret_flags)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 2, /* no memory mapping */
		.xClose = file_close,
		.xRead = file_read,
		.xWrite = file_write,
		.xTruncate = file_truncate,
		.xSync = file_sync,
		.xFileSize = file_size,
		.xLock = file_lock,
		.xUnlock = file_unlock,
		.xCheckReservedLock = file_reserved,
		.xFileControl = file_control,
		.xSectorSize = file_sector,
		.xDeviceCharacteristics = file_device,
		.xShmMap = file_shm_map,
		.xShmLock = file_shm_lock,
		.xShmBarrier = file_shm_barrier,
		.xShmUnmap = file_shm_unmap,
	};
	struct file *file = (struct file *)f;
	int err = noted.real->xOpen(noted.real, name, &file->real, flags,
				    ret_flags);

	(void)vfs;
	file->number = file_of(name, true);
	file->base.pMethods = err ? NULL : &methods;
	return err;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
	(void)vfs;
	note(DELETE, file_of(name, false), 0, NULL, 0);
	return noted.real->xDelete(noted.real, name, sync_dir);
}

/* ---- recording ---- */

static void read_file(struct image *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	long len;

	must(in && fseek(in, 0, SEEK_END) == 0);
	len = ftell(in);
	rewind(in);
	f->exists = true;
	f->len = (size_t)len;
	f->data = malloc(f->len + 1);
	must(f->data && fread(f->data, 1, f->len, in) == f->len);
	fclose(in);
}

void power_cut_record(const char *folder)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);
	char path[PATH_MAX];

	must(dir && strlen(folder) < sizeof(noted.folder));
	strcpy(noted.folder, folder);
	while ((entry = readdir(dir))) {
		int n = snprintf(path, sizeof(path), "%s/%s", folder,
				 entry->d_name);

		must(n > 0 && (size_t)n < sizeof(path));
		if (entry->d_type == DT_REG)
			read_file(&noted.files[file_of(path, true)], path);
	}
	closedir(dir);
	noted.real = sqlite3_vfs_find(NULL);
	noted.vfs = *noted.real;
	noted.vfs.zName = "power-cut";
	noted.vfs.szOsFile =
		(int)offsetof(struct file, real) + noted.real->szOsFile;
	noted.vfs.xOpen = vfs_open;
	noted.vfs.xDelete = vfs_delete;
	must(sqlite3_vfs_register(&noted.vfs, 1) == SQLITE_OK);
}

void power_cut_end(void)
{
	must(sqlite3_vfs_register(noted.real, 1) == SQLITE_OK);
	must(sqlite3_vfs_unregister(&noted.vfs) == SQLITE_OK);
}

size_t power_cut_moments(void)
{
	return noted.count;
}

/* ---- the files after a cut ---- */

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void resize(struct image *f, size_t len)
{
	if (len > f->len) {
		f->data = realloc(f->data, len);
		must(f->data);
		memset(f->data + f->len, 0, len - f->len);
	}
	f->len = len;
}

static void put(struct image *f, size_t at, const uint8_t *data, size_t len)
{
	if (at + len > f->len)
		resize(f, at + len);
	memcpy(f->data + at, data, len);
}

static void apply(struct image *f, const struct operation *o)
{
	if (o->kind == WRITE) {
		f->exists = true;
		put(f, (size_t)o->at, o->data, (size_t)o->len);
	} else if (o->kind == TRUNCATE) {
		resize(f, (size_t)o->at);
	} else if (o->kind == DELETE) {
		f->exists = false;
		f->len = 0;
	}
}

/* Those sectors that a coin shows. */
static void apply_torn(struct image *f, const struct operation *o,
		       uint64_t *random)
{
	size_t at = (size_t)o->at, end = at + (size_t)o->len;

	f->exists = true;
	while (at < end) {
		size_t next = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;

		if (next > end)
			next = end;
		if (draw(random) & 1)
			put(f, at, o->data + (at - (size_t)o->at), next - at);
		at = next;
	}
}

/* An operation after the last synchronisation: by chance it is there, in part, or not. A
 * deletion always is: where that matters, SQLite synchronises the folder. */
static void apply_or_not(struct image *f, const struct operation *o,
			 uint64_t *random)
{
	const uint64_t coin = draw(random) % 4;

	if (o->kind == DELETE || coin < 2)
		apply(f, o);
	else if (o->kind == WRITE && coin == 2)
		apply_torn(f, o, random);
}

static void write_file(const struct image *f, const char *folder)
{
	char path[PATH_MAX];
	FILE *out;
	int n = snprintf(path, sizeof(path), "%s/%s", folder, f->name);

	must(n > 0 && (size_t)n < sizeof(path));
	remove(path);
	/* the memory that processes share is gone */
	if (!f->exists || strstr(f->name, "-shm"))
		return;
	out = fopen(path, "wb");
	must(out && fwrite(f->data, 1, f->len, out) == f->len);
	fclose(out);
}

void power_cut_make(const char *folder, size_t moment, uint64_t seed,
		    bool disk_lies)
{
	uint64_t random = seed;

	for (int k = 0; k < noted.file_count; k++) {
		struct image f = noted.files[k];
		size_t synced = 0;

		f.data = malloc(f.len + 1);
		must(f.data);
		if (f.len)
			memcpy(f.data, noted.files[k].data, f.len);
		for (size_t i = 0; i < moment && !disk_lies; i++)
			if (noted.operations[i].file == k &&
			    noted.operations[i].kind == SYNC)
				synced = i;
		for (size_t i = 0; i < moment; i++) {
			const struct operation *o = &noted.operations[i];

			if (o->file != k)
				continue;
			if (i < synced)
				apply(&f, o);
			else
				apply_or_not(&f, o, &random);
		}
		write_file(&f, folder);
		free(f.data);
	}
}

void power_cut_release(void)
{
	for (size_t i = 0; i < noted.count; i++)
		free(noted.operations[i].data);
	free(noted.operations);
	for (int k = 0; k < noted.file_count; k++)
		free(noted.files[k].data);
	memset(&noted, 0, sizeof(noted));
}
