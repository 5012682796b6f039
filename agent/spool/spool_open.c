/* Making, finding and removing a spool. */
#include "agent/spool/spool_internal.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int sync_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd) != 0)
		err = -errno;
	close(fd);
	return err;
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
	s->meta = strdup(meta);
	err = s->meta ? spool_segment_begin(s) : -ENOMEM;
	if (err == 0)
		err = sync_directory(dir);
	if (err) {
		spool_remove(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* ---- what a process before us has left ---- */

/* Take one record of a process before us into account; it loses its text. */
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

/* @return 0 whole; 1 cut behind what could be read; -errno */
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
			/* behind a damaged one: its numbers do not follow */
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
