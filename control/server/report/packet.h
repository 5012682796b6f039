/**
 * Write SIP messages as packets of a capture file. Each gets IP and UDP
 * headers, whatever its transport was: the file does not show the transport.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_REPORT_PACKET_H
#define OFFHOOK_SERVER_REPORT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/sockaddr.h"

/* IPv6 and UDP headers: the longest there are. */
#define PACKET_HEADER_BYTES 48
/* Longest message that a UDP datagram over IPv4 holds. */
#define PACKET_DATA_BYTES 65507

#define PACKET_FILE_HEADER_BYTES   24
#define PACKET_RECORD_HEADER_BYTES 16

/** Write the file header: libpcap 2.4, microseconds, LINKTYPE_RAW. Integers are
 * in host byte order, as readers expect.
 * Source: draft-ietf-opsawg-pcap-02 section 4 */
void packet_file_header(uint8_t header[static PACKET_FILE_HEADER_BYTES]);

/** Header of a packet in the file (section 5).
 * @param t_us  since 1970; len  of the packet */
void packet_record_header(uint8_t header[static PACKET_RECORD_HEADER_BYTES],
			  int64_t t_us, size_t len);

/** Parse "192.0.2.1:5060" or "[2001:db8::1]:5060". @return 0; -EINVAL */
int packet_address(union sockaddr_ip *ret, const char *text);

/**
 * Headers of a datagram (RFC 791, RFC 8200, RFC 768), checksums included. Of
 * two address families the packet is of IPv6, with an IPv4-mapped address.
 * @param len  of the data, at most PACKET_DATA_BYTES
 * @return bytes of the header
 */
size_t packet_header(uint8_t header[static PACKET_HEADER_BYTES],
		     const union sockaddr_ip *from, const union sockaddr_ip *to,
		     const void *data, size_t len);

#endif
