/**
 * The interarrival jitter in whole ticks, as the code printed in RFC 3550 has
 * it: for comparison with programs that do it so. Ours is rtp_timing.h.
 * Source: RFC 3550 A.8, the integer variant
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_JITTER_TICKS_H
#define OFFHOOK_MEDIA_ANALYSIS_JITTER_TICKS_H

#include <stdint.h>

/** All zero: start. */
struct jitter_ticks {
	uint32_t transit;
	uint32_t jitter;  /* 16 * J */
	uint32_t highest; /* of the values reported */
};

/** A packet that sets the reference only. @param clock_hz  > 0 */
void jitter_ticks_reference(struct jitter_ticks *j, int64_t mono_ns,
			    uint32_t rtp_ts, uint32_t clock_hz);

/** A packet that is a sample (rtp_sample.has_ipdv). */
void jitter_ticks_update(struct jitter_ticks *j, int64_t mono_ns,
			 uint32_t rtp_ts, uint32_t clock_hz);

/** J after the last packet. */
uint32_t jitter_ticks_last(const struct jitter_ticks *j);

#endif
