#include "media/packet_copy.h"

#include "base/big_endian.h"
#include "base/packet_file.h"

#include <string.h>

#define RTP_FIXED_BYTES     12
#define RTP_CSRC_BYTES      4
#define RTP_CSRC_MASK       0x0f
#define RTP_EXTENSION_BIT   0x10
#define RTP_EXTENSION_BYTES 4 /* and 4 for each word that it counts */

#define COPY_BYTES_MAX PAYLOAD_BYTES_MAX

size_t packet_copy_rtp_header(const uint8_t *data, size_t bytes)
{
	size_t header;

	if (bytes < RTP_FIXED_BYTES)
		return bytes;
	header = RTP_FIXED_BYTES +
		 RTP_CSRC_BYTES * (size_t)(data[0] & RTP_CSRC_MASK);
	if ((data[0] & RTP_EXTENSION_BIT) &&
	    header + RTP_EXTENSION_BYTES <= bytes)
		header += RTP_EXTENSION_BYTES +
			  4 * (size_t)be16(data + header + 2);
	return header < bytes ? header : bytes;
}

void packet_copy(const struct packet_copies *copies,
		 const struct packet_copy *p)
{
	const union sockaddr_ip *local = &copies->local[p->socket].ss;
	const union sockaddr_ip *peer = &p->peer->ss;
	uint8_t copy[COPY_BYTES_MAX];
	struct payload head = {.mono_ns = p->mono_ns, .sent = p->sent};
	size_t keep = p->captured;
	size_t header = packet_file_udp(copy, p->sent ? local : peer,
					p->sent ? peer : local, p->data,
					p->captured, p->bytes);

	if (!copies->whole && !p->rtcp)
		keep = packet_copy_rtp_header(p->data, p->captured);
	if (keep > sizeof(copy) - header)
		keep = sizeof(copy) - header;
	memcpy(copy + header, p->data, keep);
	head.bytes = (uint16_t)(header + keep);
	(void)payload_ring_push(copies->ring, &head, copy);
}
