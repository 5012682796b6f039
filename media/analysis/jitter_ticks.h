/**
 * Interarrival jitter in whole RTP timestamp units, as in the code of RFC 3550,
 * for comparison with programs that compute it this way. Our own is in
 * rtp_timing.h.
 * Source: RFC 3550 appendix A.8, the integer variant
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_JITTER_TICKS_H
#define OFFHOOK_MEDIA_ANALYSIS_JITTER_TICKS_H

#include <stdint.h>

/** All zero: start. */
struct jitter_ticks {
	uint32_t transit;
	uint32_t jitter;  /* 16 * J */
	uint32_t highest; /* highest value of J reported */
};

/** A packet that only sets the reference.
 * @param clock_hz  > 0 */
void jitter_ticks_reference(struct jitter_ticks *j, int64_t mono_ns,
			    uint32_t rtp_ts, uint32_t clock_hz);

/** A packet that gives a sample (rtp_sample.has_ipdv). */
void jitter_ticks_update(struct jitter_ticks *j, int64_t mono_ns,
			 uint32_t rtp_ts, uint32_t clock_hz);

/** @return J after the last packet */
uint32_t jitter_ticks_last(const struct jitter_ticks *j);

#endif
