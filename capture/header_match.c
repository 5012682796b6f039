#include "capture/header_match.h"

#include <string.h>

#include "base/big_endian.h"
#include "media/analysis/rtp_header.h"

#define UDP_HEADER          8
#define IPV6_HEADER         40
#define PADDING_OR_EXTENDED 0x30 /* octet 0 of RTP */
#define CSRC_COUNT          0x0f
#define WORD                sizeof(header_words)

static header_words words_at(const uint8_t *p)
{
	header_words v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static size_t words_of(size_t octets)
{
	return (octets + WORD - 1) / WORD;
}

/* RFC 791: type of service, length, identification, TTL and checksum change. */
static void ignore_ipv4(struct header_layout *l, uint8_t *mask)
{
	memset(mask + 1, 0, 5);
	mask[8] = 0;
	memset(mask + 10, 0, 2);
	l->ip_length_at = (uint8_t)(l->ip_at + 2);
	l->ip_length_min = (uint16_t)(l->rtp_at - UDP_HEADER - l->ip_at);
}

/* RFC 8200: traffic class, flow label, length and hop limit change. */
static void ignore_ipv6(struct header_layout *l, uint8_t *mask)
{
	mask[0] = 0xf0;
	memset(mask + 1, 0, 5);
	mask[7] = 0;
	l->ip_length_at = (uint8_t)(l->ip_at + 4);
	l->ip_length_min =
		(uint16_t)(l->rtp_at - UDP_HEADER - l->ip_at - IPV6_HEADER);
}

static void set_mask(struct header_layout *l)
{
	uint8_t mask[HEADER_MATCH_OCTETS] = {0};

	memset(mask, 0xff, l->rtp_at + RTP_HEADER_BYTES);
	if (l->ip_version == 4)
		ignore_ipv4(l, mask + l->ip_at);
	else
		ignore_ipv6(l, mask + l->ip_at);
	l->udp_length_min = (uint16_t)(UDP_HEADER + l->rtp_bytes);
	memset(mask + l->rtp_at - 4, 0, 4); /* UDP length and checksum */
	memset(mask + l->rtp_at + 2, 0, 6); /* sequence number, timestamp */
	memcpy(l->mask, mask, sizeof(l->mask));
}

/* @return NULL: there are HEADER_LAYOUTS_MAX others */
static const struct header_layout *find_layout(struct header_layouts *all,
					       const struct frame *f,
					       const struct datagram *d)
{
	const struct header_layout want = {
		.link = f->link,
		.ip_at = (uint8_t)(d->ip - f->data),
		.ip_version = d->ip[0] >> 4,
		.rtp_at = (uint8_t)(d->payload - f->data),
		.rtp_bytes = (uint8_t)(RTP_HEADER_BYTES +
				       4 * (d->payload[0] & CSRC_COUNT)),
	};
	struct header_layout *l = all->layout;

	for (; l < all->layout + all->count; l++) {
		if (l->link == want.link && l->ip_at == want.ip_at &&
		    l->ip_version == want.ip_version &&
		    l->rtp_at == want.rtp_at && l->rtp_bytes == want.rtp_bytes)
			return l;
	}
	if (all->count == HEADER_LAYOUTS_MAX)
		return NULL;
	all->count++;
	*l = want;
	l->words = (uint8_t)words_of(want.rtp_at + RTP_HEADER_BYTES);
	set_mask(l);
	return l;
}

void header_match_learn(struct header_match *m, struct header_layouts *all,
			const struct frame *f, const struct datagram *d)
{
	const size_t end = (size_t)(d->payload - f->data) + RTP_HEADER_BYTES;
	const struct header_layout *l;

	m->layout = NULL;
	if (end > HEADER_MATCH_OCTETS || words_of(end) * WORD > f->captured ||
	    (d->payload[0] & PADDING_OR_EXTENDED))
		return;
	l = find_layout(all, f, d);
	for (size_t i = 0; l && i < l->words; i++)
		m->value[i] = words_at(f->data + WORD * i) & l->mask[i];
	m->layout = l;
}

bool header_match_record(const struct header_match *m, const struct frame *f,
			 struct packet_record *ret)
{
	const struct header_layout *l = m->layout;
	header_words differs = {0};
	const uint8_t *rtp;
	unsigned udp_bytes;

	if (!l || l->link != f->link || f->captured < WORD * l->words)
		return false;
	for (size_t i = 0; i < l->words; i++)
		differs |= (words_at(f->data + WORD * i) & l->mask[i]) ^
			   m->value[i];
	if (differs[0] | differs[1])
		return false;
	rtp = f->data + l->rtp_at;
	udp_bytes = be16(rtp - 4);
	if (udp_bytes < l->udp_length_min ||
	    be16(f->data + l->ip_length_at) < l->ip_length_min)
		return false;
	*ret = (struct packet_record){
		.mono_ns = f->ns,
		.rtp_ts = be32(rtp + 4),
		.ssrc = be32(rtp + 8),
		.seq = be16(rtp + 2),
		.payload_bytes = (uint16_t)(udp_bytes - l->udp_length_min),
		.header_bytes = l->rtp_bytes,
		.marker_pt = rtp[1],
		.kind = PACKET_RTP_RECEIVED,
	};
	return true;
}
