/**
 * Digits from received telephone-event packets (RFC 4733 section 2.5.2):
 * handles repeated, lost and reordered packets, lost ends, and long events in
 * segments. Pure.
 * Thread: one at a time (the analysis); never blocks.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_DTMF_RECEIVE_H
#define OFFHOOK_MEDIA_AUDIO_DTMF_RECEIVE_H

#include "media/dtmf.h"

/* An event ends if no packet of it arrives for this time. RFC 4733 section
 * 2.5.2.2 does not define it: three packets of the longest packet time. */
#define DTMF_SILENCE_NS INT64_C(360000000)

struct dtmf_receive {
	bool open;    /* an event is in progress */
	bool has_old; /* ssrc and ts are those of the last event */
	uint32_t ssrc;
	uint32_t ts; /* of the present segment, or of the last event */
	uint8_t event;
	uint16_t duration;     /* of the present segment */
	uint32_t before_ticks; /* duration of the segments before it */
	uint32_t clock_hz;
	int64_t start_ns;
	int64_t last_ns;
};

/* One packet can end a digit, begin the next, and end that, too. */
#define DTMF_STEPS_MAX 3

struct dtmf_step {
	bool ended; /* false: it began */
	char digit;
	double ms; /* if it ended: its duration */
	int64_t mono_ns;
};

/** Digits that began or ended with one packet or timeout, in order. */
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

/** Process a packet. Events that are not digits are ignored. */
void dtmf_receive_packet(struct dtmf_receive *d, const struct dtmf_arrival *a,
			 struct dtmf_heard *ret);

/** Process the time: end an event without packets for DTMF_SILENCE_NS.
 * @param mono_ns  now; INT64_MAX: end it in any case */
void dtmf_receive_time(struct dtmf_receive *d, int64_t mono_ns,
		       struct dtmf_heard *ret);

#endif
