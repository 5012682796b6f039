#include "agent/spool/spool.h"

#include "base/file.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Segments are named by their number, so that they sort: 00000001.seg */
#define SEGMENT_NAME_BYTES 16
#define SEGMENTS_MAX       99999999u

struct segment {
	unsigned number;
	uint64_t first_seq; /* 0: no upload in it yet */
	uint64_t last_seq;
	uint64_t bytes;
	struct segment *next;
};

struct spool {
	char path[PATH_MAX];
	int dir_fd;
	struct spool_space *space;
	struct segment *first;
	struct segment *last; /* records are appended to it */
	int write_fd;
	int read_fd; /* of the segment `reading`, or -1 */
	const struct segment *reading;
	uint64_t read_at; /* where the record `read_seq` begins */
	uint64_t read_seq;
	uint64_t last_seq;
	uint64_t synced_seq;
	char *meta;
	char *finish;
};

/* ---- segments ---- */

/* File name of a segment. */
static void spool_segment_name(char name[static SEGMENT_NAME_BYTES],
			       unsigned number)
{
	snprintf(name, SEGMENT_NAME_BYTES, "%08u.seg", number);
}

/* @param flags  of open(). @return descriptor; -errno */
static int spool_segment_open(const struct spool *s, unsigned number, int flags)
{
	char name[SEGMENT_NAME_BYTES];
	int fd;

	spool_segment_name(name, number);
	fd = openat(s->dir_fd, name, flags | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* Add a segment to the end of the list. @return NULL out of memory */
static struct segment *spool_segment_add(struct spool *s, unsigned number)
{
	struct segment *seg = calloc(1, sizeof(*seg));

	if (!seg)
		return NULL;
	seg->number = number;
	if (s->last)
		s->last->next = seg;
	else
		s->first = seg;
	s->last = seg;
	return seg;
}

/* Each segment begins with the meta record, as earlier segments are deleted before
 * it. */
static int append_meta(struct spool *s)
{
	struct record record = {
		.kind = RECORD_META, .text = s->meta, .len = strlen(s->meta)};
	int err = segment_append(s->write_fd, &s->last->bytes, &record);

	if (err == 0)
		s->space->used += s->last->bytes;
	return err;
}

/* Begin the next segment: later records go there, the meta record first.
 * @return 0; -EFBIG too many; -ENOMEM; -errno */
static int spool_segment_begin(struct spool *s)
{
	unsigned number = s->last ? s->last->number + 1 : 1;
	int fd, err;

	if (number > SEGMENTS_MAX)
		return -EFBIG;
	/* sync the old one now: later syncs are of the new one */
	err = s->last ? spool_sync(s) : 0;
	if (err)
		return err;
	fd = spool_segment_open(s, number,
				O_RDWR | O_CREAT | O_EXCL | O_APPEND);
	if (fd < 0)
		return fd;
	if (!spool_segment_add(s, number)) {
		close(fd);
		return -ENOMEM;
	}
	if (s->write_fd >= 0)
		close(s->write_fd);
	s->write_fd = fd;
	return fsync(s->dir_fd) ? -errno : append_meta(s);
}

static void segment_drop_first(struct spool *s)
{
	struct segment *seg = s->first;
	char name[SEGMENT_NAME_BYTES];

	if (s->reading == seg) {
		close(s->read_fd);
		s->read_fd = -1;
		s->reading = NULL;
	}
	spool_segment_name(name, seg->number);
	unlinkat(s->dir_fd, name, 0);
	s->space->used -= seg->bytes;
	s->first = seg->next;
	if (!s->first)
		s->last = NULL;
	free(seg);
}

/* ---- writing ---- */

static int append(struct spool *s, const struct record *record)
{
	uint64_t before;
	int err = 0;

	if (record->len > SEGMENT_TEXT_BYTES)
		return -EMSGSIZE;
	if (s->last->bytes >= SPOOL_SEGMENT_BYTES && s->last->first_seq)
		err = spool_segment_begin(s);
	if (err == 0 && s->last->bytes == 0)
		err = append_meta(s); /* the disk was full when it was begun */
	if (err)
		return err;
	before = s->last->bytes;
	err = segment_append(s->write_fd, &s->last->bytes, record);
	s->space->used += s->last->bytes - before;
	return err;
}

int spool_append(struct spool *s, enum record_kind kind, const char *text,
		 size_t len)
{
	struct record record = {
		.kind = kind, .seq = s->last_seq + 1, .len = len};
	uint64_t after;
	int err;

	after = s->space->used + SEGMENT_HEADER_BYTES + record.len;
	if (kind == RECORD_STATS && after > s->space->limit)
		return -EDQUOT;
	if (after / SPOOL_FULL_TIMES > s->space->limit)
		return -ENOBUFS;
	record.text = strndup(text, len);
	if (!record.text)
		return -ENOMEM;
	err = append(s, &record);
	free(record.text);
	if (err)
		return err;
	s->last_seq = record.seq;
	if (!s->last->first_seq)
		s->last->first_seq = record.seq;
	s->last->last_seq = record.seq;
	return 0;
}

int spool_append_finish(struct spool *s, const char *text)
{
	struct record record = {.kind = RECORD_FINISH, .len = strlen(text)};
	int err;

	free(s->finish);
	s->finish = strdup(text);
	if (!s->finish)
		return -ENOMEM;
	record.text = s->finish;
	err = append(s, &record);
	return err ? err : spool_sync(s);
}

int spool_sync(struct spool *s)
{
	if (fdatasync(s->write_fd) != 0)
		return -errno;
	s->synced_seq = s->last_seq;
	return 0;
}

/* ---- reading ---- */

uint64_t spool_last_seq(const struct spool *s)
{
	return s->last_seq;
}

uint64_t spool_synced_seq(const struct spool *s)
{
	return s->synced_seq;
}

uint64_t spool_first_seq(const struct spool *s)
{
	for (const struct segment *seg = s->first; seg; seg = seg->next) {
		if (seg->first_seq)
			return seg->first_seq;
	}
	return s->last_seq + 1;
}

const char *spool_meta(const struct spool *s)
{
	return s->meta;
}

const char *spool_finish(const struct spool *s)
{
	return s->finish;
}

/* Open the segment that holds a number, at its beginning. */
static int seek(struct spool *s, uint64_t seq)
{
	const struct segment *seg = s->first;
	int fd;

	while (seg && (!seg->first_seq || seq > seg->last_seq))
		seg = seg->next;
	if (!seg || seq < seg->first_seq)
		return -ENOENT;
	if (s->reading == seg && seq >= s->read_seq)
		return 0; /* it follows in the segment that is open */
	if (s->reading != seg) {
		fd = spool_segment_open(s, seg->number, O_RDONLY);
		if (fd < 0)
			return fd;
		if (s->read_fd >= 0)
			close(s->read_fd);
		s->read_fd = fd;
		s->reading = seg;
	}
	s->read_at = 0;
	s->read_seq = seg->first_seq;
	return 0;
}

int spool_read(struct spool *s, uint64_t seq, struct record *ret)
{
	int err = seek(s, seq);

	while (err == 0) {
		struct record record;
		uint64_t next;
		int n = segment_read(s->read_fd, s->read_at, &record, &next);

		if (n != 1)
			return n == 0 ? -ENOENT : n;
		s->read_at = next;
		if (record.seq) /* meta and finish have none */
			s->read_seq = record.seq + 1;
		if (record.seq == seq) {
			*ret = record;
			return 0;
		}
		free(record.text);
	}
	return err;
}

void spool_release(struct spool *s, uint64_t seq)
{
	while (s->first != s->last && s->first->last_seq <= seq)
		segment_drop_first(s);
}

/* ---- making, finding and removing a spool ---- */

bool spool_name_valid(const char *lease_id)
{
	size_t len = strlen(lease_id);

	if (len == 0 || len >= SPOOL_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)lease_id[i]) && lease_id[i] != '-')
			return false;
	}
	return true;
}

static int spool_new(struct spool **ret, const char *dir, const char *lease_id,
		     struct spool_space *space, bool create)
{
	struct spool *s;
	int err = 0;

	if (!spool_name_valid(lease_id))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->space = space;
	s->write_fd = -1;
	s->read_fd = -1;
	s->dir_fd = -1;
	err = str_print(s->path, sizeof(s->path), "%s/%s", dir, lease_id);
	if (err < 0)
		goto fail;
	if (create && mkdir(s->path, 0700) != 0 && errno != EEXIST) {
		err = -errno;
		goto fail;
	}
	s->dir_fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0) {
		err = -errno;
		goto fail;
	}
	*ret = s;
	return 0;
fail:
	spool_free(s);
	return err;
}

struct spool *spool_free(struct spool *s)
{
	if (!s)
		return NULL;
	if (s->write_fd >= 0)
		close(s->write_fd);
	if (s->read_fd >= 0)
		close(s->read_fd);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	while (s->first) {
		struct segment *seg = s->first;

		s->space->used -= seg->bytes;
		s->first = seg->next;
		free(seg);
	}
	free(s->meta);
	free(s->finish);
	free(s);
	return NULL;
}

/* ---- its directory ---- */

/* Numbers of the segments in the directory, sorted; -errno or their count. */
static int list_segments(const struct spool *s, struct dirent ***ret)
{
	/* the analyzer assumes that spool_new() may fail and return 0
	 * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	int n = scandir(s->path, ret, NULL, alphasort);

	return n < 0 ? -errno : n;
}

static bool segment_number(const char *name, unsigned *ret)
{
	char same[SEGMENT_NAME_BYTES];
	uint64_t number;
	char digits[9];

	if (strlen(name) != 12 || strcmp(name + 8, ".seg") != 0)
		return false;
	memcpy(digits, name, 8);
	digits[8] = '\0';
	if (str_to_u64(digits, SEGMENTS_MAX, &number) != 0 || number == 0)
		return false;
	spool_segment_name(same, (unsigned)number);
	*ret = (unsigned)number;
	return strcmp(same, name) == 0;
}

struct spool *spool_remove(struct spool *s)
{
	struct dirent **names;
	unsigned number;
	int n;

	if (!s)
		return NULL;
	n = list_segments(s, &names);
	for (int i = 0; i < n; i++) {
		if (segment_number(names[i]->d_name, &number))
			unlinkat(s->dir_fd, names[i]->d_name, 0);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	rmdir(s->path);
	return spool_free(s);
}

int spool_create(struct spool **ret, const char *dir, const char *lease_id,
		 struct spool_space *space, const char *meta)
{
	struct spool *s = NULL;
	int err = spool_open(&s, dir, lease_id, space);

	if (err == 0 || err == -ENODATA)
		spool_remove(s);
	s = NULL;
	err = spool_new(&s, dir, lease_id, space, true);
	if (err)
		return err;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): likewise */
	s->meta = strdup(meta);
	err = s->meta ? spool_segment_begin(s) : -ENOMEM;
	if (err == 0)
		err = file_sync_folder(dir);
	if (err) {
		spool_remove(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* ---- recovery: what an earlier process has left ---- */

/* Account for one record of an earlier process; takes its text. */
static bool recover_record(struct spool *s, struct segment *seg,
			   struct record *record)
{
	char **slot = NULL;

	if (record->kind == RECORD_META)
		slot = &s->meta;
	else if (record->kind == RECORD_FINISH)
		slot = &s->finish;
	if (slot) {
		free(*slot);
		*slot = record->text;
		return true;
	}
	free(record->text);
	/* numbers go up by one; the first segment may begin anywhere */
	if (record->seq == 0 || (s->last_seq && record->seq != s->last_seq + 1))
		return false;
	if (!seg->first_seq)
		seg->first_seq = record->seq;
	seg->last_seq = record->seq;
	s->last_seq = record->seq;
	return true;
}

/* @return 0 all was read; 1 the file was cut after the last valid record;
 * -errno */
static int recover_segment(struct spool *s, unsigned number)
{
	struct segment *seg;
	struct record record;
	uint64_t next = 0;
	int err = spool_segment_open(s, number, O_RDWR | O_APPEND), n = 0;

	if (err < 0)
		return err;
	if (s->write_fd >= 0)
		close(s->write_fd);
	s->write_fd = err;
	seg = spool_segment_add(s, number);
	if (!seg)
		return -ENOMEM;
	for (; (n = segment_read(s->write_fd, seg->bytes, &record, &next)) == 1;
	     seg->bytes = next) {
		if (!recover_record(s, seg, &record)) {
			n = -EBADMSG;
			break;
		}
	}
	s->space->used += seg->bytes;
	if (n == 0)
		return 0;
	if (n != -EBADMSG)
		return n;
	return ftruncate(s->write_fd, (off_t)seg->bytes) ? -errno : 1;
}

int spool_open(struct spool **ret, const char *dir, const char *lease_id,
	       struct spool_space *space)
{
	struct spool *s = NULL;
	struct dirent **names;
	int n, err = spool_new(&s, dir, lease_id, space, false);
	unsigned number;

	if (err)
		return err;
	n = list_segments(s, &names);
	for (int i = 0; i < n; i++) {
		if (err == 0 && segment_number(names[i]->d_name, &number))
			err = recover_segment(s, number);
		else if (err == 1 && segment_number(names[i]->d_name, &number))
			/* after a damaged segment: the numbers would have a hole */
			unlinkat(s->dir_fd, names[i]->d_name, 0);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	else
		err = n;
	if (err > 0)
		err = 0;
	if (err == 0 && !s->meta)
		s->meta = strdup("{}");
	if (err == 0 && s->meta && s->last)
		err = spool_sync(s);
	else if (err == 0)
		err = s->last ? -ENOMEM : -ENODATA;
	if (err == -ENODATA) {
		spool_remove(s);
	} else if (err) {
		spool_free(s);
	} else {
		*ret = s;
	}
	return err;
}
