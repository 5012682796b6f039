/**
 * When the calls of a generator are due: a rate that rises linearly from
 * nothing to its ceiling.
 * Thread: any; pure
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_CALL_RATE_H
#define OFFHOOK_AGENT_ENGINE_JOB_CALL_RATE_H

#include <stdint.h>

/**
 * The moment of the next call. While the rate rises, rate(t) = per_second *
 * t / ramp_up_s, so that per_second * ramp_up_s / 2 calls are due until it is
 * reached; the gap is the time in which one more call is due.
 * @param at_ns       when the last call was due, ns since the generator began,
 *                    >= 0
 * @param per_second  the full rate, > 0
 * @param ramp_up_s   seconds until it is reached; 0: at once
 * @return ns since the generator began, > at_ns
 */
int64_t call_rate_next_ns(int64_t at_ns, double per_second, uint32_t ramp_up_s);

#endif
