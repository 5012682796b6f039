/**
 * Write UDP datagrams as packets of a capture file: file and record headers, and
 * the IP and UDP headers of a datagram whose own were not kept.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_BASE_PACKET_FILE_H
#define OFFHOOK_BASE_PACKET_FILE_H

#include "base/sockaddr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* IPv6 and UDP headers: the longest there are. */
#define PACKET_FILE_UDP_BYTES 48
/* Longest payload of a UDP datagram over IPv4. */
#define PACKET_FILE_DATA_BYTES 65507

#define PACKET_FILE_HEADER_BYTES 24
#define PACKET_FILE_RECORD_BYTES 16

/** Write the file header: libpcap 2.4, nanoseconds, LINKTYPE_RAW,
 * little-endian.
 * Source: draft-ietf-opsawg-pcap-02 section 4 */
void packet_file_header(uint8_t header[static PACKET_FILE_HEADER_BYTES]);

/** Check that a file has the format of packet_file_header(). */
bool packet_file_header_valid(
	const uint8_t header[static PACKET_FILE_HEADER_BYTES]);

/** A packet of a file, without its data (section 5). */
struct packet_file_record {
	int64_t unix_ns;   /* since 1970, at most 2^32 s */
	uint32_t captured; /* bytes in the file */
	uint32_t bytes;    /* of the packet */
};

void packet_file_record_write(uint8_t dst[static PACKET_FILE_RECORD_BYTES],
			      const struct packet_file_record *record);
void packet_file_record_read(
	struct packet_file_record *ret,
	const uint8_t src[static PACKET_FILE_RECORD_BYTES]);

/** Parse "192.0.2.1:5060" or "[2001:db8::1]:5060". @return 0; -EINVAL */
int packet_file_address(union sockaddr_ip *ret, const char *text);

/**
 * Headers of a datagram (RFC 791, RFC 8200, RFC 768), checksums included. Of
 * two address families the packet is of IPv6, with an IPv4-mapped address.
 * @param len    of data
 * @param bytes  of the payload, `len` to PACKET_FILE_DATA_BYTES; of more than
 *               `len` the checksum is not known, and wrong
 * @return bytes of the header
 */
size_t packet_file_udp(uint8_t header[static PACKET_FILE_UDP_BYTES],
		       const union sockaddr_ip *from,
		       const union sockaddr_ip *to, const void *data,
		       size_t len, size_t bytes);

/** Bytes of a packet that begins with a header of packet_file_udp(). */
size_t packet_file_udp_packet(
	const uint8_t header[static PACKET_FILE_UDP_BYTES]);

#endif
