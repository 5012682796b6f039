#include "capture/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int source_open(struct source *s, int fd)
{
	uint8_t *buffer = malloc(SOURCE_BYTES);

	if (!buffer)
		return -ENOMEM;
	*s = (struct source){.data = buffer, .buffer = buffer, .fd = fd};
	return 0;
}

void source_open_memory(struct source *s, const uint8_t *data, size_t bytes)
{
	*s = (struct source){.data = data, .end = bytes, .fd = -1, .eof = true};
}

void source_close(struct source *s)
{
	free(s->buffer);
	*s = (struct source){.fd = -1, .eof = true};
}

bool source_fill(struct source *s, size_t n)
{
	if (s->eof || n > SOURCE_BYTES)
		return false;
	memmove(s->buffer, s->buffer + s->at, s->end - s->at);
	s->consumed += s->at;
	s->end -= s->at;
	s->at = 0;
	while (s->end < n && !s->eof) {
		ssize_t got =
			read(s->fd, s->buffer + s->end, SOURCE_BYTES - s->end);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			s->err = -errno;
		if (got <= 0)
			s->eof = true;
		else
			s->end += (size_t)got;
	}
	return s->end >= n;
}

bool source_skip(struct source *s, uint64_t n)
{
	while (n > 0) {
		size_t part = n < SOURCE_BYTES ? (size_t)n : SOURCE_BYTES;

		if (!source_need(s, part)) {
			s->at = s->end;
			return false;
		}
		source_consume(s, part);
		n -= part;
	}
	return true;
}
