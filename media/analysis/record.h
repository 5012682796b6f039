/**
 * Record of one packet, from the receiving and sending threads to the analysis
 * thread: 32 bytes, pushed through a ring (base/ring.h).
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RECORD_H
#define OFFHOOK_MEDIA_ANALYSIS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_MARKER_BIT 0x80
#define PACKET_PT_MASK    0x7f

enum packet_kind {
	PACKET_RTP_RECEIVED = 0,
	PACKET_RTP_SENT = 1,
	/* The owner of the ring defines the values from here on (control
	 * messages in order with the packets); the analysis ignores them. */
	PACKET_PRIVATE = 16,
};

struct packet_record {
	int64_t mono_ns; /* monotonic; received: the kernel's receive time;
			  * sent: the time of the send call */
	uint32_t rtp_ts; /* RTP timestamp */
	uint32_t ssrc;
	uint32_t session;    /* index of the session at its owner */
	int32_t lateness_us; /* sent: delay after the due time, saturated;
			      * received: 0 */
	uint16_t seq;
	uint16_t payload_bytes; /* without header and padding */
	uint16_t header_bytes;  /* fixed header, CSRCs and extension */
	uint8_t marker_pt;      /* second octet of the header: M and PT */
	uint8_t kind;           /* enum packet_kind */
};

_Static_assert(sizeof(struct packet_record) == 32, "ring record size");

/* Packets of a stream that are processed together: half a second of 20 ms, so
 * that few wait when a second is closed. */
#define RTP_RUN_MAX 25
/* Length of the arrays of a run: whole vectors; elements beyond the run are
 * never used. */
#define RTP_RUN_WHOLE 28

static inline uint8_t packet_pt(const struct packet_record *r)
{
	return r->marker_pt & PACKET_PT_MASK;
}

static inline bool packet_marker(const struct packet_record *r)
{
	return (r->marker_pt & PACKET_MARKER_BIT) != 0;
}

#endif
