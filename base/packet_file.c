#include "base/packet_file.h"

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/sockaddr.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define PCAP_MAGIC_NS 0xa1b23c4du
#define LINKTYPE_RAW  101u

#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES  8
#define HOPS       64

static void put16_little(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
}

static void put32_little(uint8_t *to, uint32_t value)
{
	put16_little(to, (uint16_t)value);
	put16_little(to + 2, (uint16_t)(value >> 16));
}

static uint32_t get32_little(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

void packet_file_header(uint8_t header[static PACKET_FILE_HEADER_BYTES])
{
	memset(header, 0, PACKET_FILE_HEADER_BYTES);
	put32_little(header, PCAP_MAGIC_NS);
	put16_little(header + 4, 2); /* version 2.4 */
	put16_little(header + 6, 4);
	put32_little(header + 16,
		     PACKET_FILE_UDP_BYTES + PACKET_FILE_DATA_BYTES);
	put32_little(header + 20, LINKTYPE_RAW);
}

bool packet_file_header_valid(
	const uint8_t header[static PACKET_FILE_HEADER_BYTES])
{
	uint8_t ours[PACKET_FILE_HEADER_BYTES];

	packet_file_header(ours);
	/* but for the longest packet, which is not ours to say */
	return memcmp(ours, header, 8) == 0 &&
	       memcmp(ours + 20, header + 20, 4) == 0;
}

void packet_file_record_write(uint8_t dst[static PACKET_FILE_RECORD_BYTES],
			      const struct packet_file_record *record)
{
	put32_little(dst, (uint32_t)(record->unix_ns / NS_PER_S));
	put32_little(dst + 4, (uint32_t)(record->unix_ns % NS_PER_S));
	put32_little(dst + 8, record->captured);
	put32_little(dst + 12, record->bytes);
}

void packet_file_record_read(struct packet_file_record *ret,
			     const uint8_t src[static PACKET_FILE_RECORD_BYTES])
{
	*ret = (struct packet_file_record){
		.unix_ns = get32_little(src) * NS_PER_S + get32_little(src + 4),
		.captured = get32_little(src + 8),
		.bytes = get32_little(src + 12),
	};
}

int packet_file_address(union sockaddr_ip *ret, const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t len = colon ? (size_t)(colon - text) : 0;
	socklen_t address_len;
	uint64_t port;

	if (!colon || len == 0 || len >= sizeof(host) ||
	    str_to_u64(colon + 1, 65535, &port))
		return -EINVAL;
	if (text[0] == '[' && len > 2 && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	memcpy(host, text, len);
	host[len] = '\0';
	return sockaddr_parse(ret, &address_len, host, (uint16_t)port);
}

/* Source: RFC 1071 */
static uint32_t sum(uint32_t total, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		total += (uint32_t)(data[i] << 8 | data[i + 1]);
	if (len % 2)
		total += (uint32_t)(data[len - 1] << 8);
	return (total & 0xffff) + (total >> 16);
}

static uint16_t folded(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)~total;
}

/* The address in 16 bytes, IPv4 mapped (RFC 4291 section 2.5.5.2). */
static void put_ipv6(uint8_t to[16], const union sockaddr_ip *address)
{
	if (address->ss_family == AF_INET6) {
		memcpy(to, &((const struct sockaddr_in6 *)address)->sin6_addr,
		       16);
		return;
	}
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	memcpy(to + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
}

static uint16_t port_of(const union sockaddr_ip *address)
{
	return ntohs(address->ss_family == AF_INET6
			     ? ((const struct sockaddr_in6 *)address)->sin6_port
			     : ((const struct sockaddr_in *)address)->sin_port);
}

static void put_ipv4_header(uint8_t *h, const union sockaddr_ip *from,
			    const union sockaddr_ip *to, size_t udp_len)
{
	memset(h, 0, IPV4_BYTES);
	h[0] = 0x45;
	be16_put(h + 2, IPV4_BYTES + udp_len);
	h[6] = 0x40; /* do not fragment */
	h[8] = HOPS;
	h[9] = IPPROTO_UDP;
	memcpy(h + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
	memcpy(h + 16, &((const struct sockaddr_in *)to)->sin_addr, 4);
	be16_put(h + 10, folded(sum(0, h, IPV4_BYTES)));
}

static void put_ipv6_header(uint8_t *h, const union sockaddr_ip *from,
			    const union sockaddr_ip *to, size_t udp_len)
{
	memset(h, 0, IPV6_BYTES);
	h[0] = 0x60;
	be16_put(h + 4, udp_len);
	h[6] = IPPROTO_UDP;
	h[7] = HOPS;
	put_ipv6(h + 8, from);
	put_ipv6(h + 24, to);
}

size_t packet_file_udp(uint8_t header[static PACKET_FILE_UDP_BYTES],
		       const union sockaddr_ip *from,
		       const union sockaddr_ip *to, const void *data,
		       size_t len, size_t bytes)
{
	const bool v4 = from->ss_family == AF_INET && to->ss_family == AF_INET;
	const size_t ip_len = v4 ? IPV4_BYTES : IPV6_BYTES;
	const size_t udp_len = UDP_BYTES + bytes;
	uint8_t *udp = header + ip_len;
	uint32_t total = IPPROTO_UDP + (uint32_t)udp_len;
	uint16_t checksum;

	if (v4)
		put_ipv4_header(header, from, to, udp_len);
	else
		put_ipv6_header(header, from, to, udp_len);
	be16_put(udp, port_of(from));
	be16_put(udp + 2, port_of(to));
	be16_put(udp + 4, udp_len);
	be16_put(udp + 6, 0);
	total = v4 ? sum(total, header + 12, 8) : sum(total, header + 8, 32);
	total = sum(total, udp, UDP_BYTES);
	checksum = folded(sum(total, data, len));
	be16_put(udp + 6, checksum ? checksum : 0xffff); /* 0 means none */
	return ip_len + UDP_BYTES;
}

size_t packet_file_udp_packet(
	const uint8_t header[static PACKET_FILE_UDP_BYTES])
{
	if (header[0] >> 4 == 4)
		return be16(header + 2);
	return IPV6_BYTES + (size_t)be16(header + 4);
}
