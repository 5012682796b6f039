/**
 * Copies of the RTP and RTCP packets of a session, on their way to the writer of
 * the run's capture file (media/capture/packet_capture.h).
 */
#ifndef OFFHOOK_MEDIA_PACKET_COPY_H
#define OFFHOOK_MEDIA_PACKET_COPY_H

#include "media/payload_ring.h"
#include "media/socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What a thread knows of the copies of a session. */
struct packet_copies {
	struct payload_ring *ring; /* NULL: packets are not copied */
	bool whole;                /* with payload; else RTP headers only */
	struct media_addr local[SOCKET_COUNT]; /* of our sockets */
};

/** A packet that was sent or received, encrypted where SRTP is used. */
struct packet_copy {
	int64_t mono_ns; /* as the measurement has it */
	bool sent;
	bool rtcp;       /* its kind, not its port */
	unsigned socket; /* SOCKET_RTP, SOCKET_RTCP: of the port */
	const struct media_addr *peer;
	const uint8_t *data;
	size_t captured; /* bytes of data */
	size_t bytes;    /* of the packet */
};

/**
 * Copy a packet into the ring: IP and UDP header, then of RTP the header with
 * its CSRCs and extension, or all of it; of RTCP all of it. A full ring drops
 * and counts it.
 * Thread: the ring's producer; never blocks.
 */
void packet_copy(const struct packet_copies *copies,
		 const struct packet_copy *packet);

/** Bytes of an RTP header (RFC 3550 sections 5.1 and 5.3.1).
 * @param bytes  of data
 * @return at most `bytes` */
size_t packet_copy_rtp_header(const uint8_t *data, size_t bytes);

#endif
