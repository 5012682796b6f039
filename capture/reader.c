#include "capture/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCAPNG_SECTION 0x0a0d0d0au /* the same in either byte order */

int reader_fail(struct reader *r, const char *what)
{
	if (r->source->err) {
		snprintf(r->reason, sizeof(r->reason),
			 "reading failed at byte %llu: %s",
			 (unsigned long long)source_offset(r->source),
			 strerror(-r->source->err));
		return r->source->err;
	}
	snprintf(r->reason, sizeof(r->reason), "%s at byte %llu", what,
		 (unsigned long long)source_offset(r->source));
	return -EBADMSG;
}

/* Say what people most often hand over instead of a capture. */
static const char *guess_format(const uint8_t *p)
{
	if (p[0] == 0x1f && p[1] == 0x8b)
		return "this is gzip: decompress it first (zcat FILE | offhook analyze -)";
	if (!memcmp(p, "\x28\xb5\x2f\xfd", 4))
		return "this is zstd: decompress it first";
	if (!memcmp(p, "snoo", 4))
		return "this is a snoop file: convert it (editcap -F pcapng)";
	if (!memcmp(p, "RIFF", 4))
		return "this is audio, no capture";
	return "this is no pcap or pcapng file";
}

int reader_open(struct reader *r, struct source *source)
{
	const uint8_t *p;
	uint32_t magic;

	*r = (struct reader){.source = source};
	p = source_need(source, 4);
	if (!p && source_left(source) == 0)
		return reader_fail(r, "the file is empty");
	if (!p)
		return reader_fail(r, "the file is too short for a capture");
	memcpy(&magic, p, sizeof(magic));
	if (magic == PCAPNG_SECTION) {
		r->ng = true;
		r->format = "pcapng";
		return reader_pcapng_open(r);
	}
	r->format = "pcap";
	if (reader_pcap_open(r, magic) == 0)
		return 0;
	return r->reason[0] ? -EBADMSG : reader_fail(r, guess_format(p));
}

int reader_next(struct reader *r, struct frame *ret)
{
	return r->ng ? reader_pcapng_next(r, ret) : reader_pcap_next(r, ret);
}

void reader_close(struct reader *r)
{
	free(r->interface);
	*r = (struct reader){0};
}
