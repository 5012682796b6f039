/**
 * A plain UDP peer that builds and reads packets by hand.
 */
#ifndef TESTS_UNIT_MEDIA_PEER_H
#define TESTS_UNIT_MEDIA_PEER_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_PAYLOAD_BYTES 160

struct peer {
	int fd;
	struct media_addr at;
};

void peer_open(struct peer *p);
void peer_close(struct peer *p);

void peer_send(const struct peer *p, const struct media_addr *to,
	       const void *data, size_t bytes);

/**
 * Send one PCMA packet of 20 ms. The timestamp follows from the sequence
 * number.
 */
void peer_send_rtp(const struct peer *p, const struct media_addr *to,
		   uint32_t ssrc, uint16_t seq);

/**
 * Read a datagram that has arrived.
 * @return bytes; -1: nothing
 */
int peer_receive(const struct peer *p, uint8_t *data, size_t size);

#endif
