#include "agent/spool/spool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- segments ---- */

void spool_segment_name(char name[static SEGMENT_NAME_BYTES], unsigned number)
{
	snprintf(name, SEGMENT_NAME_BYTES, "%08u.seg", number);
}

int spool_segment_open(const struct spool *s, unsigned number, int flags)
{
	char name[SEGMENT_NAME_BYTES];
	int fd;

	spool_segment_name(name, number);
	fd = openat(s->dir_fd, name, flags | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

struct segment *spool_segment_add(struct spool *s, unsigned number)
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

/* Every segment has it: the first ones are given back before the last. */
static int append_meta(struct spool *s)
{
	struct record record = {
		.kind = RECORD_META, .text = s->meta, .len = strlen(s->meta)};
	int err = segment_append(s->write_fd, &s->last->bytes, &record);

	if (err == 0)
		s->space->used += s->last->bytes;
	return err;
}

int spool_segment_begin(struct spool *s)
{
	unsigned number = s->last ? s->last->number + 1 : 1;
	int fd, err;

	if (number > SEGMENTS_MAX)
		return -EFBIG;
	/* what the old one holds must not wait for the new one's sync */
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
	if (err)
		return err;
	before = s->last->bytes;
	err = segment_append(s->write_fd, &s->last->bytes, record);
	s->space->used += s->last->bytes - before;
	return err;
}

int spool_append(struct spool *s, enum record_kind kind, const char *text)
{
	return spool_append_n(s, kind, text, strlen(text));
}

int spool_append_n(struct spool *s, enum record_kind kind, const char *text,
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

/* Go to the beginning of the segment that holds a number. */
static int seek(struct spool *s, uint64_t seq)
{
	const struct segment *seg = s->first;
	int fd;

	while (seg && (!seg->first_seq || seq > seg->last_seq))
		seg = seg->next;
	if (!seg || seq < seg->first_seq)
		return -ENOENT;
	if (s->reading == seg && seq >= s->read_seq)
		return 0; /* further on in the one that is open */
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
