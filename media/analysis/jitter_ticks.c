#include "media/analysis/jitter_ticks.h"

#include "base/clock.h"

/* floor(t * clock) - ts mod 2^32, without 128-bit arithmetic */
static uint32_t transit_ticks(int64_t mono_ns, uint32_t rtp_ts,
			      uint32_t clock_hz)
{
	uint64_t s = (uint64_t)(mono_ns / NS_PER_S);
	uint64_t ns = (uint64_t)(mono_ns % NS_PER_S);

	return (uint32_t)(s * clock_hz + ns * clock_hz / NS_PER_S) - rtp_ts;
}

void jitter_ticks_reference(struct jitter_ticks *j, int64_t mono_ns,
			    uint32_t rtp_ts, uint32_t clock_hz)
{
	j->transit = transit_ticks(mono_ns, rtp_ts, clock_hz);
}

void jitter_ticks_update(struct jitter_ticks *j, int64_t mono_ns,
			 uint32_t rtp_ts, uint32_t clock_hz)
{
	uint32_t transit = transit_ticks(mono_ns, rtp_ts, clock_hz);
	int32_t d = (int32_t)(transit - j->transit);
	uint32_t distance = d < 0 ? 0u - (uint32_t)d : (uint32_t)d;

	j->transit = transit;
	j->jitter += distance - ((j->jitter + 8) >> 4);
	if (j->jitter >> 4 > j->highest)
		j->highest = j->jitter >> 4;
}

uint32_t jitter_ticks_last(const struct jitter_ticks *j)
{
	return j->jitter >> 4;
}
