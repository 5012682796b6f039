/**
 * Digits as telephone-events (RFC 4733 section 2.5.1): the content of each
 * packet. Pure; embedded in the TX thread's session.
 *
 * All packets of an event have the RTP timestamp of its beginning. Their
 * duration grows by a packet time; the first has the marker bit. The last one
 * has the exact duration and the E bit, and is sent three times at the packet
 * interval (section 2.5.1.4). Between events audio is sent.
 * Thread: one at a time; never blocks.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_DTMF_SEND_H
#define OFFHOOK_MEDIA_AUDIO_DTMF_SEND_H

#include "media/dtmf.h"

struct dtmf_send {
	struct dtmf_order order; /* digits "": none */
	uint32_t clock_hz;       /* clock rate of the telephone-event */
	size_t at;               /* index of the digit */
	bool begun;              /* the digit has its timestamp */
	uint32_t start_ts;
	int64_t start_ns;
	unsigned ends;   /* number of packets with E bit sent */
	int64_t next_ns; /* earliest time of the next digit */
};

struct dtmf_packet {
	struct dtmf_payload payload;
	uint32_t ts;
	bool marker;
	bool finished; /* last packet of the digit */
	bool last;     /* and of the order */
	char digit;
};

/** Begin an order.
 * @param order  checked by dtmf_order_check()
 * @return 0; -EBUSY an order is in progress */
int dtmf_send_order(struct dtmf_send *d, const struct dtmf_order *order,
		    uint32_t clock_hz);

/** Give the order up, in the middle of a digit, too.
 * @return the digit that would have been next; 0: there is no order */
char dtmf_send_cut(struct dtmf_send *d);

/**
 * Get the packet that is due.
 * @param due_ns  its due time, never earlier than before
 * @param ts      its RTP timestamp
 * @return true: send *ret; false: send audio
 */
bool dtmf_send_next(struct dtmf_send *d, int64_t due_ns, uint32_t ts,
		    uint16_t ptime_ms, struct dtmf_packet *ret);

#endif
