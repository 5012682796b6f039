/* Classic pcap. Source: draft-ietf-opsawg-pcap sections 4 and 5 */
#include <errno.h>

#include "capture/reader.h"

#define MAGIC_US         0xa1b2c3d4u
#define MAGIC_NS         0xa1b23c4du
#define MAGIC_KUZNETZOV  0xa1b2cd34u /* 8 more bytes a record */
#define FILE_HEADER      24
#define RECORD_HEADER    16
#define RECORD_KUZNETZOV 24
#define LINK_MASK        0x03ffffffu /* above: length of the FCS */

int reader_pcap_open(struct reader *r, uint32_t magic)
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
		return reader_fail(r, "the file ends within its header");
	r->link = reader_u32(r, p + 20) & LINK_MASK;
	source_consume(r->source, FILE_HEADER);
	return 0;
}

int reader_pcap_next(struct reader *r, struct frame *ret)
{
	const uint8_t *p = source_need(r->source, r->header_bytes);
	size_t captured;
	uint64_t fraction;

	if (!p && source_left(r->source) == 0 && !r->source->err)
		return 0;
	if (!p)
		return reader_fail(r, "the file ends within a record header");
	captured = reader_u32(r, p + 8);
	if (captured > READER_FRAME_BYTES_MAX)
		return reader_fail(r, "a record with an impossible length");
	p = source_need(r->source, r->header_bytes + captured);
	if (!p)
		return reader_fail(r, "the file ends within a frame");
	fraction = (uint64_t)reader_u32(r, p + 4) * r->fraction_ns;
	if (fraction >= 1000000000u) {
		r->bad_times++;
		fraction = 999999999u;
	}
	ret->ns = (int64_t)(reader_u32(r, p) * UINT64_C(1000000000) + fraction);
	ret->timed = true;
	ret->link = r->link;
	ret->captured = captured;
	ret->bytes = reader_u32(r, p + 12);
	ret->data = p + r->header_bytes;
	source_consume(r->source, r->header_bytes + captured);
	return 1;
}
