/**
 * Digits as telephone-events (RFC 4733 2.5.1): what stands in each packet's
 * place of the stream. Pure; the TX thread embeds it.
 *
 * An event's packets carry the time stamp of its first place, durations that
 * grow by a packet time, and the marker in the first; its last one has the
 * exact duration and the E bit, and is sent three times at the packet interval
 * (2.5.1.4). Audio takes the places between.
 * Thread: one at a time; never blocks.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_DTMF_SEND_H
#define OFFHOOK_MEDIA_AUDIO_DTMF_SEND_H

#include "media/dtmf.h"

struct dtmf_send {
	struct dtmf_order order; /* digits "": none is under way */
	uint32_t clock_hz;       /* of the telephone-event */
	size_t at;               /* digit */
	bool begun;              /* it has its time stamp */
	uint32_t start_ts;
	int64_t start_ns;
	unsigned ends;   /* packets with E sent */
	int64_t next_ns; /* the next digit not before */
};

struct dtmf_packet {
	struct dtmf_payload payload;
	uint32_t ts;
	bool marker;
	bool finished; /* the digit's last packet */
	bool last;     /* and it was the order's last digit */
	char digit;
};

/** Begin an order. @param order  checked @return 0; -EBUSY one is under way */
int dtmf_send_order(struct dtmf_send *d, const struct dtmf_order *order,
		    uint32_t clock_hz);

/**
 * The packet for a place of the stream.
 * @param due_ns  of the place; they do not go back
 * @param ts      RTP time stamp of the place
 * @return true: *ret is to be sent there; false: audio
 */
bool dtmf_send_next(struct dtmf_send *d, int64_t due_ns, uint32_t ts,
		    uint16_t ptime_ms, struct dtmf_packet *ret);

#endif
