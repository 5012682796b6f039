#include "capture/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCAPNG_SECTION 0x0a0d0d0au /* the same in either byte order */

static uint16_t read_u16(const struct reader *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap16(v) : v;
}

static uint32_t read_u32(const struct reader *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap32(v) : v;
}

/* Write the reason, with the offset. @return -EBADMSG; errno of a failed read */
static int fail(struct reader *r, const char *what)
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

/* ---- pcap: draft-ietf-opsawg-pcap sections 4 and 5 ---- */

#define MAGIC_US         0xa1b2c3d4u
#define MAGIC_NS         0xa1b23c4du
#define MAGIC_KUZNETZOV  0xa1b2cd34u /* 8 more bytes a record */
#define FILE_HEADER      24
#define RECORD_HEADER    16
#define RECORD_KUZNETZOV 24
#define LINK_MASK        0x03ffffffu /* the bits above are the length of the FCS */

static int reader_pcap_open(struct reader *r, uint32_t magic)
{
	const uint8_t *p;

	if (magic == __builtin_bswap32(MAGIC_US) ||
	    magic == __builtin_bswap32(MAGIC_NS) ||
	    magic == __builtin_bswap32(MAGIC_KUZNETZOV)) {
		r->swapped = true;
		magic = __builtin_bswap32(magic);
	}
	if (magic != MAGIC_US && magic != MAGIC_NS && magic != MAGIC_KUZNETZOV)
		return -EBADMSG;
	r->fraction_ns = magic == MAGIC_NS ? 1 : 1000;
	r->header_bytes =
		magic == MAGIC_KUZNETZOV ? RECORD_KUZNETZOV : RECORD_HEADER;
	p = source_need(r->source, FILE_HEADER);
	if (!p)
		return fail(r, "the file ends within its header");
	r->link = read_u32(r, p + 20) & LINK_MASK;
	source_consume(r->source, FILE_HEADER);
	return 0;
}

static int reader_pcap_next(struct reader *r, struct frame *ret)
{
	const uint8_t *p = source_need(r->source, r->header_bytes);
	size_t captured;
	uint64_t fraction;

	if (!p && source_left(r->source) == 0 && !r->source->err)
		return 0;
	if (!p)
		return fail(r, "the file ends within a record header");
	captured = read_u32(r, p + 8);
	if (captured > READER_FRAME_BYTES_MAX)
		return fail(r, "a record with an impossible length");
	p = source_need(r->source, r->header_bytes + captured);
	if (!p)
		return fail(r, "the file ends within a frame");
	fraction = (uint64_t)read_u32(r, p + 4) * r->fraction_ns;
	if (fraction >= 1000000000u) {
		r->bad_times++;
		fraction = 999999999u;
	}
	ret->ns = (int64_t)(read_u32(r, p) * UINT64_C(1000000000) + fraction);
	ret->timed = true;
	ret->link = r->link;
	ret->interface = 0;
	ret->captured = captured;
	ret->bytes = read_u32(r, p + 12);
	ret->data = p + r->header_bytes;
	source_consume(r->source, r->header_bytes + captured);
	return 1;
}

/* ---- pcapng: draft-ietf-opsawg-pcapng sections 3 and 4 ---- */

enum block {
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET_OLD = 2,
	BLOCK_SIMPLE = 3,
	BLOCK_ENHANCED = 6,
	BLOCK_SECTION = 0x0a0d0d0a,
};

#define ORDER_MAGIC       0x1a2b3c4du
#define BLOCK_HEADER      8
#define BLOCK_BYTES_MIN   12
#define PACKET_HEADER     20 /* enhanced and old packet block */
#define OPTION_IF_NAME    2
#define OPTION_TSRESOL    9
#define OPTION_TSOFFSET   14
#define RESOLUTION_US     6 /* the default */
#define RESOLUTION_BINARY 0x80

/* A section's header shows the byte order of the section. */
static int read_order(struct reader *r)
{
	const uint8_t *p = source_need(r->source, 12);
	uint32_t magic;

	if (!p)
		return fail(r, "the file ends within a section header");
	memcpy(&magic, p + 8, sizeof(magic));
	if (magic != ORDER_MAGIC && magic != __builtin_bswap32(ORDER_MAGIC))
		return fail(r, "a section without byte order");
	r->swapped = magic != ORDER_MAGIC;
	r->interfaces = 0;
	return 0;
}

static void read_options(const struct reader *r, struct reader_interface *i,
			 const uint8_t *p, size_t bytes)
{
	while (bytes >= 4) {
		uint16_t code = read_u16(r, p);
		size_t length = read_u16(r, p + 2);
		size_t padded = (length + 3) & ~(size_t)3;

		if (code == 0 || length > bytes - 4)
			return;
		if (code == OPTION_IF_NAME && length < sizeof(i->name)) {
			memcpy(i->name, p + 4, length);
			i->name[length] = '\0';
		}
		if (code == OPTION_TSRESOL && length == 1)
			i->resolution = p[4];
		if (code == OPTION_TSOFFSET && length == 8) {
			uint64_t v;

			memcpy(&v, p + 4, sizeof(v));
			i->offset_s =
				(int64_t)(r->swapped ? __builtin_bswap64(v)
						     : v);
		}
		if (padded > bytes - 4)
			return;
		p += 4 + padded;
		bytes -= 4 + padded;
	}
}

static int add_interface(struct reader *r, const uint8_t *body, size_t bytes)
{
	struct reader_interface *i;

	if (bytes < 8)
		return fail(r, "an interface block without a link type");
	if (r->interfaces >= READER_INTERFACES_MAX)
		return fail(r, "more interfaces than can be");
	if (!r->interface)
		r->interface = calloc(READER_INTERFACES_MAX, sizeof(*i));
	if (!r->interface)
		return fail(r, "no memory for the interfaces");
	i = &r->interface[r->interfaces++];
	*i = (struct reader_interface){
		.link = read_u16(r, body),
		.snap_bytes = read_u32(r, body + 4),
		.resolution = RESOLUTION_US,
	};
	read_options(r, i, body + 8, bytes - 8);
	return 0;
}

static uint64_t power_of_ten(unsigned n)
{
	uint64_t v = 1;

	while (n-- > 0)
		v *= 10;
	return v;
}

static int64_t time_ns(struct reader *r, const struct reader_interface *i,
		       uint64_t ts)
{
	unsigned n = i->resolution & ~(unsigned)RESOLUTION_BINARY;
	__int128 ns = ts;

	if (i->resolution & RESOLUTION_BINARY) {
		/* 2^64 * 10^9 < 2^94 */
		ns = n < 94 ? (ns * 1000000000) >> n : 0;
	} else if (n <= 9) {
		ns *= (int64_t)power_of_ten(9 - n);
	} else {
		ns = n <= 28 ? ns / (int64_t)power_of_ten(n - 9 > 18 ? 18
								     : n - 9)
			     : 0;
	}
	ns += (__int128)i->offset_s * 1000000000;
	if (ns >= 0 && ns <= READER_TIME_MAX_NS)
		return (int64_t)ns;
	r->bad_times++;
	return ns < 0 ? 0 : READER_TIME_MAX_NS;
}

/* @return 1 a frame; 0 none in this block; -EBADMSG */
static int read_packet(struct reader *r, uint32_t type, const uint8_t *body,
		       size_t bytes, struct frame *ret)
{
	const struct reader_interface *i;
	uint32_t id;

	if (bytes < PACKET_HEADER)
		return fail(r, "a packet block that is too short");
	id = type == BLOCK_ENHANCED ? read_u32(r, body) : read_u16(r, body);
	if (id >= r->interfaces) {
		r->dropped++;
		return 0;
	}
	i = &r->interface[id];
	ret->captured = read_u32(r, body + 12);
	if (ret->captured > bytes - PACKET_HEADER)
		return fail(r, "a packet longer than its block");
	ret->bytes = read_u32(r, body + 16);
	ret->ns = time_ns(r, i,
			  (uint64_t)read_u32(r, body + 4) << 32 |
				  read_u32(r, body + 8));
	ret->timed = true;
	ret->link = i->link;
	ret->interface = id;
	ret->data = body + PACKET_HEADER;
	return 1;
}

/* A simple packet block: of the first interface, without a time. */
static int read_simple(struct reader *r, const uint8_t *body, size_t bytes,
		       struct frame *ret)
{
	const struct reader_interface *i = r->interface;

	if (bytes < 4)
		return fail(r, "a packet block that is too short");
	if (r->interfaces == 0) {
		r->dropped++;
		return 0;
	}
	r->untimed++;
	ret->bytes = read_u32(r, body);
	ret->captured = ret->bytes;
	if (i->snap_bytes > 0 && ret->captured > i->snap_bytes)
		ret->captured = i->snap_bytes;
	if (ret->captured > bytes - 4)
		ret->captured = bytes - 4;
	ret->ns = 0;
	ret->timed = false;
	ret->link = i->link;
	ret->interface = 0;
	ret->data = body + 4;
	return 1;
}

static int read_block(struct reader *r, uint32_t type, const uint8_t *block,
		      size_t bytes, struct frame *ret)
{
	const uint8_t *body = block + BLOCK_HEADER;
	size_t body_bytes = bytes - BLOCK_BYTES_MIN;

	if (read_u32(r, block + bytes - 4) != bytes)
		return fail(r, "a block whose two lengths differ");
	switch ((enum block)type) {
	case BLOCK_INTERFACE:
		return add_interface(r, body, body_bytes);
	case BLOCK_ENHANCED:
	case BLOCK_PACKET_OLD:
		return read_packet(r, type, body, body_bytes, ret);
	case BLOCK_SIMPLE:
		return read_simple(r, body, body_bytes, ret);
	case BLOCK_SECTION:
		break;
	}
	return 0;
}

static bool is_read(uint32_t type)
{
	return type == BLOCK_INTERFACE || type == BLOCK_ENHANCED ||
	       type == BLOCK_PACKET_OLD || type == BLOCK_SIMPLE;
}

static int reader_pcapng_next(struct reader *r, struct frame *ret)
{
	for (;;) {
		const uint8_t *p = source_need(r->source, BLOCK_HEADER);
		uint32_t type;
		size_t bytes;
		int got;

		if (!p && source_left(r->source) == 0 && !r->source->err)
			return 0;
		if (!p)
			return fail(r, "the file ends within a block");
		type = read_u32(r, p);
		if (type == BLOCK_SECTION && (got = read_order(r)) != 0)
			return got;
		p = source_need(r->source, BLOCK_HEADER);
		bytes = read_u32(r, p + 4);
		if (bytes < BLOCK_BYTES_MIN || bytes % 4 != 0 ||
		    (is_read(type) && bytes > READER_FRAME_BYTES_MAX + 65536))
			return fail(r, "a block with an impossible length");
		if (!is_read(type)) {
			if (!source_skip(r->source, bytes))
				return fail(r, "the file ends within a block");
			continue;
		}
		p = source_need(r->source, bytes);
		if (!p)
			return fail(r, "the file ends within a block");
		got = read_block(r, type, p, bytes, ret);
		if (got >= 0)
			source_consume(r->source, bytes);
		if (got != 0)
			return got;
	}
}

/* ---- either ---- */

/* The files that are most often mistaken for a capture. */
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
		return fail(r, "the file is empty");
	if (!p)
		return fail(r, "the file is too short for a capture");
	memcpy(&magic, p, sizeof(magic));
	if (magic == PCAPNG_SECTION) {
		r->ng = true;
		r->format = "pcapng";
		return read_order(r);
	}
	r->format = "pcap";
	if (reader_pcap_open(r, magic) == 0)
		return 0;
	return r->reason[0] ? -EBADMSG : fail(r, guess_format(p));
}

int reader_next(struct reader *r, struct frame *ret)
{
	return r->ng ? reader_pcapng_next(r, ret) : reader_pcap_next(r, ret);
}

const char *reader_interface_name(const struct reader *r, const struct frame *f)
{
	return f->interface < r->interfaces ? r->interface[f->interface].name
					    : "";
}

void reader_close(struct reader *r)
{
	free(r->interface);
	*r = (struct reader){0};
}
