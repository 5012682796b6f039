#include "control/server/backup/command.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/version.h"
#include "conf/controller_conf.h"
#include "control/server/backup/contents.h"
#include "control/server/backup/snapshot.h"
#include "control/server/store/store_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup {
	const struct controller_conf *conf;
	const struct backup_options *o;
	struct archive_writer *archive;
	char key_file[CONF_PATH_BYTES];
	struct database_schema schema;
	struct file_list files; /* as the rows name them */
	size_t missing;
};

/* Note which master key belongs to the data. Without the key the data is still
 * worth a backup. */
static int key_check(struct backup *b, char check[static SECRETS_CHECK_BYTES])
{
	struct secrets *secrets;
	int err;

	check[0] = '\0';
	if (access(b->key_file, F_OK)) {
		err = -errno;
		log_warning("master key %s: %s", b->key_file, strerror(-err));
		return b->o->with_key ? err : 0;
	}
	err = secrets_load(&secrets, b->key_file);
	if (err)
		return err;
	secrets_check(secrets, check);
	secrets_free(secrets);
	return 0;
}

static int add_about(struct backup *b)
{
	char check[SECRETS_CHECK_BYTES], now[CLOCK_TEXT_BYTES];
	json_t *about;
	char *text;
	int err = key_check(b, check);

	if (err)
		return err;
	clock_format(now, clock_wall_ns());
	about = json_pack("{s:i, s:s, s:i, s:s, s:s}", "format",
			  CONTENTS_FORMAT, "version", OFFHOOK_VERSION, "schema",
			  b->schema.number, "created_at", now, "key_check",
			  check);
	text = json_dumps(about, JSON_INDENT(2));
	json_decref(about);
	if (!text)
		return -ENOMEM;
	err = archive_add_text(b->archive, CONTENTS_ABOUT, text, strlen(text));
	free(text);
	if (err == 0 && b->o->with_key) {
		char hash[ARCHIVE_HASH_BYTES];
		int fd = open(b->key_file, O_RDONLY | O_CLOEXEC);

		err = fd < 0 ? -errno
			     : archive_add(b->archive, CONTENTS_KEY, fd, hash);
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* A file that is not there, or is another one, was deleted since the snapshot or
 * lost before: the backup goes on without it, and says so. */
static int add_file(struct backup *b, const struct kept_file *f)
{
	char path[CONF_PATH_BYTES], hash[ARCHIVE_HASH_BYTES];
	int fd, err = conf_path(path, sizeof(path), b->conf->state_dir,
				f->name);

	if (err < 0)
		return err;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		log_warning("%s: the file is missing, so it is not in the "
			    "backup (was it deleted just now?)",
			    path);
		b->missing++;
		return 0;
	}
	if (fd < 0)
		err = -errno;
	else
		err = archive_add(b->archive, f->name, fd, hash);
	if (fd >= 0)
		close(fd);
	if (err == 0 && strcmp(hash, f->hash) != 0) {
		log_warning("%s: the file is not the one that was uploaded; it "
			    "is in the backup as it is",
			    path);
		b->missing++;
	}
	if (err < 0 && err != -ECANCELED)
		log_error("%s: %s", path, strerror(-err));
	return err;
}

static int add_database(struct backup *b, const char *copy)
{
	char hash[ARCHIVE_HASH_BYTES];
	int fd = open(copy, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = archive_add(b->archive, CONTENTS_DATABASE, fd, hash);
	close(fd);
	return err;
}

static int add_all(struct backup *b, const char *copy)
{
	int err = database_schema(copy, &b->schema);

	if (err == 0)
		err = database_files(copy, file_list_add, &b->files);
	if (err == 0)
		err = add_about(b);
	for (size_t i = 0; i < b->files.count && err == 0; i++)
		err = add_file(b, &b->files.files[i]);
	if (err == 0)
		err = add_database(b, copy);
	return err ? err : archive_end(b->archive);
}

static int write_archive(struct backup *b, int fd, const char *copy)
{
	int err =
		archive_writer_new(&b->archive, fd, clock_wall_ns() / NS_PER_S,
				   snapshot_interrupted, NULL);

	if (err == 0)
		err = add_all(b, copy);
	b->archive = archive_writer_free(b->archive);
	if (err == 0 && fsync(fd))
		err = -errno;
	return err;
}

/* Give the finished file its name. */
static int put_in_place(const struct backup_options *o, const char *partial)
{
	if (renameat2(AT_FDCWD, partial, AT_FDCWD, o->file,
		      o->force ? 0 : RENAME_NOREPLACE))
		return -errno;
	return file_sync_folder_of(o->file);
}

static void tell(const struct backup *b)
{
	struct stat st;

	printf("%s: schema %d, %zu files, %" PRId64 " bytes\n", b->o->file,
	       b->schema.number, b->files.count,
	       stat(b->o->file, &st) == 0 ? (int64_t)st.st_size : 0);
	if (b->missing > 0)
		printf("%zu files are missing or were changed: see the "
		       "warnings\n",
		       b->missing);
	if (b->o->with_key)
		printf("It holds the master key: keep it as safe as the key "
		       "itself.\n");
	else
		printf("It does not hold the master key: keep a copy of %s, "
		       "too. Without it the passwords and keys in the backup "
		       "are of no use.\n",
		       b->key_file);
}

static int write_backup(struct backup *b, const char *copy)
{
	char partial[CONF_PATH_BYTES];
	int fd, err;

	if (str_print(partial, sizeof(partial), "%s.partial-XXXXXX",
		      b->o->file) < 0)
		return -ENAMETOOLONG;
	fd = mkostemp(partial, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		log_error("%s: %s", partial, strerror(errno));
		return err;
	}
	err = write_archive(b, fd, copy);
	close(fd);
	if (err == 0)
		err = put_in_place(b->o, partial);
	if (err)
		unlink(partial);
	return err;
}

/* rotate-key leaves this file if a power cut interrupts it (control/server/data.c). */
static bool is_key_undecided(const char *key_file)
{
	char next[CONF_PATH_BYTES + 8];

	str_print(next, sizeof(next), "%s.new", key_file);
	return access(next, F_OK) == 0;
}

int backup_command(const struct controller_conf *conf,
		   const struct backup_options *o)
{
	struct backup b = {.conf = conf, .o = o};
	struct snapshot snapshot;
	int err = snapshot_supported(conf, "backup");

	if (err == 0)
		err = conf_path(b.key_file, sizeof(b.key_file), conf->state_dir,
				conf->key_file);
	if (err < 0)
		return err;
	if (is_key_undecided(b.key_file)) {
		log_error("a change of the master key was interrupted: start "
			  "the controller, or repeat rotate-key, before a "
			  "backup");
		return -EAGAIN;
	}
	if (!o->force && access(o->file, F_OK) == 0) {
		log_error("%s exists: choose another name, or replace it with "
			  "--force",
			  o->file);
		return -EEXIST;
	}
	err = snapshot_take(&snapshot, conf);
	if (err == 0) {
		err = write_backup(&b, snapshot.path);
		snapshot_release(&snapshot);
	}
	file_list_release(&b.files);
	if (err == -ECANCELED)
		log_error("interrupted; nothing was written");
	else if (err)
		log_error("no backup was written to %s: %s", o->file,
			  strerror(-err));
	else
		tell(&b);
	return err;
}
