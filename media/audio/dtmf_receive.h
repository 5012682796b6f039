/**
 * Digits out of received telephone-event packets (RFC 4733 2.5.2): repeated,
 * lost and reordered packets, lost ends, long events in segments. Pure.
 * Thread: one at a time (the analysis); never blocks.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_DTMF_RECEIVE_H
#define OFFHOOK_MEDIA_AUDIO_DTMF_RECEIVE_H

#include "media/dtmf.h"

/* An event of which nothing more comes is over (2.5.2.2 leaves the time to us:
 * three packets of the longest packet time). */
#define DTMF_SILENCE_NS INT64_C(360000000)

struct dtmf_receive {
	bool open;    /* an event goes on */
	bool has_old; /* ssrc and ts are those of the last event */
	uint32_t ssrc;
	uint32_t ts; /* of the current segment, or of the last event */
	uint8_t event;
	uint16_t duration;     /* of the segment */
	uint32_t before_ticks; /* of the segments before it */
	uint32_t clock_hz;
	int64_t start_ns;
	int64_t last_ns;
};

/* One packet can end the digit before, begin one, and end it. */
#define DTMF_STEPS_MAX 3

struct dtmf_step {
	bool ended; /* else it began */
	char digit;
	double ms; /* ended: how long it was */
	int64_t mono_ns;
};

/** What one packet, or its staying away, says, in order. */
struct dtmf_heard {
	size_t count;
	struct dtmf_step steps[DTMF_STEPS_MAX];
};

struct dtmf_arrival {
	struct dtmf_payload payload;
	uint32_t ssrc;
	uint32_t ts;
	uint32_t clock_hz; /* > 0 */
	int64_t mono_ns;
};

/** Take a packet. Events that are no digits are ignored. */
void dtmf_receive_packet(struct dtmf_receive *d, const struct dtmf_arrival *a,
			 struct dtmf_heard *ret);

/** Time passes: ends an event of which nothing came for DTMF_SILENCE_NS. */
void dtmf_receive_time(struct dtmf_receive *d, int64_t mono_ns,
		       struct dtmf_heard *ret);

#endif
