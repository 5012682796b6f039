#include "capture/datagram.h"

#include "base/big_endian.h"

#include <string.h>

/* https://www.tcpdump.org/linktypes.html */
enum link {
	LINK_NULL = 0,
	LINK_ETHERNET = 1,
	LINK_RAW_BSD = 12,
	LINK_RAW_OPENBSD = 14,
	LINK_RAW = 101,
	LINK_LOOP = 108,
	LINK_LINUX_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_LINUX_SLL2 = 276,
};

enum ether_type {
	TYPE_IPV4 = 0x0800,
	TYPE_VLAN = 0x8100,
	TYPE_IPV6 = 0x86dd,
	TYPE_PPPOE = 0x8864,
	TYPE_QINQ = 0x88a8,
	TYPE_QINQ_OLD = 0x9100,
};

#define PROTOCOL_TCP   6
#define PROTOCOL_UDP   17
#define IPV6_HEADER    40
#define IPV6_OPTIONS   0
#define IPV6_ROUTING   43
#define IPV6_FRAGMENT  44
#define IPV6_AH        51
#define IPV6_DEST      60
#define IPV6_MOBILITY  135
#define EXTENSIONS_MAX 8
#define TAGS_MAX       4
#define TCP_FIN_RST    0x05
#define MORE_IPV4      0x2000

static enum datagram_kind parse_udp(struct datagram *ret, const uint8_t *p,
				    size_t captured)
{
	size_t bytes;

	if (captured < 8)
		return DATAGRAM_IS_OTHER;
	bytes = be16(p + 4);
	if (bytes < 8)
		return DATAGRAM_IS_OTHER;
	ret->sport = be16(p);
	ret->dport = be16(p + 2);
	ret->payload = p + 8;
	ret->bytes = bytes - 8;
	ret->captured = captured - 8 < ret->bytes ? captured - 8 : ret->bytes;
	return DATAGRAM_IS_UDP;
}

/* @param bytes  of the segment by the IP header */
static enum datagram_kind parse_tcp(struct datagram *ret, const uint8_t *p,
				    size_t captured, size_t bytes)
{
	size_t header;

	if (captured < 20)
		return DATAGRAM_IS_OTHER;
	header = 4 * (size_t)(p[12] >> 4);
	if (header < 20 || header > captured || header > bytes)
		return DATAGRAM_IS_OTHER;
	ret->sport = be16(p);
	ret->dport = be16(p + 2);
	ret->payload = p + header;
	ret->bytes = bytes - header;
	ret->captured = captured - header;
	if (ret->captured > ret->bytes)
		ret->captured = ret->bytes;
	ret->tcp.seq = be32(p + 4);
	ret->tcp.end = (p[13] & TCP_FIN_RST) != 0;
	return DATAGRAM_IS_TCP;
}

/* A fragment. Ports are known after reassembly only. */
static enum datagram_kind set_part(struct datagram *ret, const uint8_t *p,
				   size_t captured, size_t bytes)
{
	ret->payload = p;
	ret->bytes = bytes;
	ret->captured = captured < bytes ? captured : bytes;
	return DATAGRAM_IS_FRAGMENT;
}

enum datagram_kind datagram_transport(struct datagram *ret, uint8_t protocol,
				      const uint8_t *p, size_t captured,
				      size_t bytes)
{
	ret->transport = p;
	if (protocol == PROTOCOL_UDP)
		return parse_udp(ret, p, captured);
	if (protocol == PROTOCOL_TCP)
		return parse_tcp(ret, p, captured, bytes);
	return DATAGRAM_IS_OTHER;
}

static enum datagram_kind parse_ipv4(struct datagram *ret, const uint8_t *p,
				     size_t captured)
{
	size_t header;
	size_t bytes;
	uint16_t fragment;

	if (captured < 20 || p[0] >> 4 != 4)
		return DATAGRAM_IS_OTHER;
	header = 4 * (size_t)(p[0] & 15);
	bytes = be16(p + 2);
	if (header < 20 || header > captured)
		return DATAGRAM_IS_OTHER;
	fragment = be16(p + 6) & 0x3fff;
	ret->ip = p;
	ret->fragment = false;
	address_set_ipv4(&ret->src, p + 12);
	address_set_ipv4(&ret->dst, p + 16);
	/* 0: the network card fills the length in (TSO) */
	if (bytes == 0)
		bytes = captured;
	if (bytes < header)
		return DATAGRAM_IS_OTHER;
	if (fragment) {
		ret->part.id = be16(p + 4);
		ret->part.at = 8u * (fragment & 0x1fff);
		ret->part.more = (fragment & MORE_IPV4) != 0;
		ret->part.protocol = p[9];
		return set_part(ret, p + header, captured - header,
				bytes - header);
	}
	return datagram_transport(ret, p[9], p + header, captured - header,
				  bytes - header);
}

/* Walk the extension headers. At a fragment header *ret_part is set and the walk
 * ends. @return length of all headers; 0: cut, or too many */
static size_t skip_extensions(const uint8_t *p, size_t captured, uint8_t *next,
			      struct datagram *ret, bool *ret_part)
{
	size_t at = IPV6_HEADER;

	for (unsigned i = 0; i < EXTENSIONS_MAX; i++) {
		size_t length;

		switch (*next) {
		case IPV6_OPTIONS:
		case IPV6_ROUTING:
		case IPV6_DEST:
		case IPV6_MOBILITY:
		case IPV6_AH:
		case IPV6_FRAGMENT:
			break;
		default:
			return at;
		}
		if (captured < at + 8)
			return 0;
		length = 8 + 8 * (size_t)p[at + 1];
		if (*next == IPV6_AH)
			length = 4 * ((size_t)p[at + 1] + 2);
		if (*next == IPV6_FRAGMENT) {
			length = 8;
			ret->part.at = be16(p + at + 2) & 0xfff8u;
			ret->part.more = (be16(p + at + 2) & 1) != 0;
			ret->part.id = be32(p + at + 4);
			ret->part.protocol = p[at];
			/* a whole packet may have the header, too (RFC 6946) */
			*ret_part = ret->part.at > 0 || ret->part.more;
		}
		*next = p[at];
		at += length;
		if (at > captured)
			return 0;
		if (*ret_part)
			return at;
	}
	return 0;
}

static enum datagram_kind parse_ipv6(struct datagram *ret, const uint8_t *p,
				     size_t captured)
{
	uint8_t next;
	size_t at;
	size_t bytes;
	bool part = false;

	if (captured < IPV6_HEADER || p[0] >> 4 != 6)
		return DATAGRAM_IS_OTHER;
	next = p[6];
	at = skip_extensions(p, captured, &next, ret, &part);
	if (at == 0)
		return DATAGRAM_IS_OTHER;
	ret->ip = p;
	ret->fragment = false;
	memcpy(&ret->src, p + 8, sizeof(ret->src));
	memcpy(&ret->dst, p + 24, sizeof(ret->dst));
	bytes = IPV6_HEADER + (size_t)be16(p + 4);
	if (bytes < at)
		return DATAGRAM_IS_OTHER;
	if (part)
		return set_part(ret, p + at, captured - at, bytes - at);
	return datagram_transport(ret, next, p + at, captured - at, bytes - at);
}

static enum datagram_kind parse_ip(struct datagram *ret, const uint8_t *p,
				   size_t captured)
{
	if (captured == 0)
		return DATAGRAM_IS_OTHER;
	return p[0] >> 4 == 6 ? parse_ipv6(ret, p, captured)
			      : parse_ipv4(ret, p, captured);
}

/* @param type  EtherType of what begins at p */
static enum datagram_kind parse_type(struct datagram *ret, uint16_t type,
				     const uint8_t *p, size_t captured)
{
	for (unsigned tags = 0; tags < TAGS_MAX; tags++) {
		if (type != TYPE_VLAN && type != TYPE_QINQ &&
		    type != TYPE_QINQ_OLD)
			break;
		if (captured < 4)
			return DATAGRAM_IS_OTHER;
		type = be16(p + 2);
		p += 4;
		captured -= 4;
	}
	if (type == TYPE_IPV4)
		return parse_ipv4(ret, p, captured);
	if (type == TYPE_IPV6)
		return parse_ipv6(ret, p, captured);
	/* RFC 2516 section 4: 6 octets, then the PPP protocol */
	if (type == TYPE_PPPOE && captured >= 8 &&
	    (be16(p + 6) == 0x0021 || be16(p + 6) == 0x0057))
		return parse_ip(ret, p + 8, captured - 8);
	return DATAGRAM_IS_OTHER;
}

enum datagram_kind datagram_parse(struct datagram *ret, const struct frame *f)
{
	const uint8_t *p = f->data;
	size_t n = f->captured;

	switch ((enum link)f->link) {
	case LINK_ETHERNET:
		return n < 14 ? DATAGRAM_IS_OTHER
			      : parse_type(ret, be16(p + 12), p + 14, n - 14);
	case LINK_LINUX_SLL:
		return n < 16 ? DATAGRAM_IS_OTHER
			      : parse_type(ret, be16(p + 14), p + 16, n - 16);
	case LINK_LINUX_SLL2:
		return n < 20 ? DATAGRAM_IS_OTHER
			      : parse_type(ret, be16(p), p + 20, n - 20);
	case LINK_NULL:
	case LINK_LOOP:
		/* an address family in the numbers of the capturing system:
		 * the version of the IP header tells the same */
		return n < 4 ? DATAGRAM_IS_OTHER : parse_ip(ret, p + 4, n - 4);
	case LINK_RAW_BSD:
	case LINK_RAW_OPENBSD:
	case LINK_RAW:
	case LINK_IPV4:
	case LINK_IPV6:
		return parse_ip(ret, p, n);
	}
	return DATAGRAM_BAD_LINK;
}
