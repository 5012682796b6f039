/**
 * Read a classic libpcap file of Ethernet frames from memory: what the vector
 * tests need and no more.
 */
#ifndef OFFHOOK_TESTS_VECTORS_PCAP_H
#define OFFHOOK_TESTS_VECTORS_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pcap {
	uint8_t *data;
	size_t bytes;
	size_t at;
	bool swapped;
	bool nanoseconds;
};

struct datagram {
	bool udp; /* false: something else, nothing below is valid */
	int64_t ns;
	char src[46];
	char dst[46];
	uint16_t sport;
	uint16_t dport;
	const uint8_t *payload;
	size_t captured;
	size_t bytes; /* by the UDP length */
};

/** @return 0; -errno; -EBADMSG not such a file */
int pcap_open(struct pcap *p, const char *path);
/** @return 1 a frame; 0 the end; -EBADMSG a broken record */
int pcap_next(struct pcap *p, struct datagram *ret);
void pcap_close(struct pcap *p);

#endif
