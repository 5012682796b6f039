#include "control/rescore/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* @return NULL: no memory */
static struct packets_part *part_of(struct packets *p, const struct reader *r,
				    const struct frame *f,
				    const struct capture_options *options)
{
	struct packets_part *part = &p->part[f->interface];

	if (part->capture)
		return part;
	if (capture_new(&part->capture, options))
		return NULL;
	str_copy(part->name, sizeof(part->name), reader_interface_name(r, f));
	if (f->interface >= p->count)
		p->count = f->interface + 1;
	return part;
}

static void add_rtt(uint32_t ssrc, const struct distribution *rtt, void *arg)
{
	struct packets_part *part = arg;
	struct packets_rtt *grown =
		realloc(part->rtt, (part->rtt_count + 1) * sizeof(*part->rtt));

	if (!grown)
		return; /* the delay is then unknown */
	part->rtt = grown;
	part->rtt[part->rtt_count++] = (struct packets_rtt){ssrc, rtt->avg};
}

static int read_frames(struct packets *p, struct reader *reader,
		       const struct capture_options *options)
{
	struct frame f;
	int got;

	while ((got = reader_next(reader, &f)) > 0) {
		struct packets_part *part;

		if (f.interface >= PACKETS_INTERFACES_MAX) {
			p->frames_left_out++;
			continue;
		}
		part = part_of(p, reader, &f, options);
		if (!part)
			return -ENOMEM;
		capture_take(part->capture, &f);
	}
	return got;
}

int packets_read(struct packets *ret, int fd,
		 const struct capture_options *options)
{
	struct reader reader = {0};
	struct source source;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = source_open(&source, fd);
	if (err)
		return err;
	err = reader_open(&reader, &source);
	if (!err)
		err = read_frames(ret, &reader, options);
	if (err && err != -ENOMEM) {
		ret->damaged = true;
		memcpy(ret->reason, reader.reason, sizeof(ret->reason));
		err = 0;
	}
	ret->untimed = reader.untimed;
	for (size_t i = 0; i < ret->count; i++) {
		struct packets_part *part = &ret->part[i];

		if (!part->capture)
			continue;
		capture_finish(part->capture);
		capture_reporters(part->capture, add_rtt, part);
	}
	reader_close(&reader);
	source_close(&source);
	return err;
}

void packets_release(struct packets *p)
{
	for (size_t i = 0; i < p->count; i++) {
		capture_free(p->part[i].capture);
		free(p->part[i].rtt);
	}
	p->count = 0;
}

size_t packets_stream_count(const struct packets *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->part[i].capture)
			count += capture_stream_count(p->part[i].capture);
	return count;
}

uint64_t packets_left_out(const struct packets *p)
{
	uint64_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->part[i].capture)
			count += capture_counters(p->part[i].capture)
					 ->streams_left_out;
	return count;
}

bool packets_rtt_ms(const struct packets_part *part, uint32_t ssrc,
		    double *ret_ms)
{
	for (size_t i = 0; i < part->rtt_count; i++) {
		if (part->rtt[i].ssrc != ssrc)
			continue;
		*ret_ms = part->rtt[i].ms;
		return true;
	}
	return false;
}
