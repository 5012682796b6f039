#include "media/analysis/rtp_header.h"

#include "base/big_endian.h"

#include <errno.h>

enum datagram_class datagram_classify(const uint8_t *data, size_t bytes)
{
	if (bytes < 2)
		return DATAGRAM_UNKNOWN;
	if (data[0] <= 3)
		return DATAGRAM_STUN;
	if (data[0] >= 20 && data[0] <= 63)
		return DATAGRAM_DTLS;
	if (data[0] < 128 || data[0] > 191)
		return DATAGRAM_UNKNOWN;
	return data[1] >= 192 && data[1] <= 223 ? DATAGRAM_RTCP : DATAGRAM_RTP;
}

int rtp_header_parse(struct rtp_header *ret, const uint8_t *data,
		     size_t captured, size_t bytes)
{
	struct rtp_header h = {0};

	if (captured > bytes)
		return -EINVAL;
	if (captured < RTP_HEADER_BYTES || data[0] >> 6 != 2)
		return -EBADMSG;
	h.csrc_count = data[0] & 0x0f;
	h.marker = (data[1] & PACKET_MARKER_BIT) != 0;
	h.pt = data[1] & PACKET_PT_MASK;
	h.seq = be16(data + 2);
	h.ts = be32(data + 4);
	h.ssrc = be32(data + 8);
	h.header_bytes = RTP_HEADER_BYTES + 4 * (size_t)h.csrc_count;
	if (h.header_bytes > bytes)
		return -EBADMSG;
	h.has_extension = (data[0] & 0x10) != 0;
	if (h.has_extension) {
		if (h.header_bytes + 4 > captured)
			return -EBADMSG;
		h.extension_profile = be16(data + h.header_bytes);
		h.header_bytes +=
			4 + 4 * (size_t)be16(data + h.header_bytes + 2);
		if (h.header_bytes > bytes)
			return -EBADMSG;
	}
	h.payload_bytes = bytes - h.header_bytes;
	if ((data[0] & 0x20) && captured == bytes) {
		h.padding_bytes = data[bytes - 1];
		if (h.padding_bytes == 0 || h.padding_bytes > h.payload_bytes)
			return -EBADMSG;
		h.payload_bytes -= h.padding_bytes;
	}
	*ret = h;
	return 0;
}

void rtp_header_record(struct packet_record *ret, const struct rtp_header *h,
		       enum packet_kind kind, int64_t mono_ns)
{
	*ret = (struct packet_record){
		.mono_ns = mono_ns,
		.rtp_ts = h->ts,
		.ssrc = h->ssrc,
		.seq = h->seq,
		.payload_bytes = (uint16_t)h->payload_bytes,
		.header_bytes = (uint16_t)h->header_bytes,
		.marker_pt =
			(uint8_t)(h->pt | (h->marker ? PACKET_MARKER_BIT : 0)),
		.kind = (uint8_t)kind,
	};
}
