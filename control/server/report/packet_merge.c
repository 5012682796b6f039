#include "control/server/report/packet_merge.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One file a role. */
#define FILES_MAX  256
#define ROLE_BYTES 64

struct source {
	char role[ROLE_BYTES];
	FILE *file;
	bool waits; /* `next` is valid */
	struct packet_file_record next;
};

struct packet_merge {
	struct source sources[FILES_MAX];
	size_t count;
	uint8_t data[PACKET_FILE_UDP_BYTES + PACKET_FILE_DATA_BYTES];
};

int packet_merge_new(struct packet_merge **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

struct packet_merge *packet_merge_free(struct packet_merge *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->count; i++)
		(void)fclose(m->sources[i].file);
	free(m);
	return NULL;
}

/* Leave out the rest of a file. */
static void source_end(struct source *s)
{
	log_warning("the captured packets of role %s are damaged: the rest is "
		    "left out",
		    s->role);
	s->waits = false;
}

static void next_read(struct packet_merge *m, struct source *s)
{
	uint8_t record[PACKET_FILE_RECORD_BYTES];

	s->waits = fread(record, sizeof(record), 1, s->file) == 1;
	if (!s->waits)
		return;
	packet_file_record_read(&s->next, record);
	if (s->next.captured > sizeof(m->data) ||
	    s->next.captured > s->next.bytes)
		source_end(s);
}

int packet_merge_add(struct packet_merge *m, const char *role, const char *path)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];
	struct source *s = &m->sources[m->count % FILES_MAX];

	if (m->count == FILES_MAX || str_copy(s->role, sizeof(s->role), role))
		return -ENOMEM;
	s->file = fopen(path, "re");
	if (!s->file)
		return -errno;
	m->count++;
	if (fread(header, sizeof(header), 1, s->file) == 1 &&
	    packet_file_header_valid(header))
		next_read(m, s);
	else
		source_end(s);
	return 0;
}

static struct source *earliest(struct packet_merge *m)
{
	struct source *found = NULL;

	for (size_t i = 0; i < m->count; i++) {
		struct source *s = &m->sources[i];

		if (s->waits &&
		    (!found || s->next.unix_ns < found->next.unix_ns))
			found = s;
	}
	return found;
}

int packet_merge_until(struct packet_merge *m, int64_t unix_ns,
		       packet_merge_h *handler, void *arg)
{
	struct source *s;
	int err;

	while ((s = earliest(m)) && s->next.unix_ns <= unix_ns) {
		if (fread(m->data, 1, s->next.captured, s->file) !=
		    s->next.captured) {
			source_end(s);
			continue;
		}
		err = handler(s->role, &s->next, m->data, arg);
		if (err)
			return err;
		next_read(m, s);
	}
	return 0;
}
