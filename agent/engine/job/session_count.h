/**
 * How many media sessions an engine makes room for.
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_SESSION_COUNT_H
#define OFFHOOK_AGENT_ENGINE_JOB_SESSION_COUNT_H

#include "control/wire/job.h"

#include <stdint.h>

#define ENGINE_CALLS_MAX 10000u

/**
 * The media sessions a job can hold at a time. A session outlives its SIP call
 * (SIP_CALL_CLOSED) by what is still on its way to it, a fraction of a second;
 * the call's place among max_concurrent_calls is free at once. Room for those:
 * - call: all that were placed within the last second are at most
 *   calls_per_second, and one begun; the others are not above
 *   max_concurrent_calls.
 * - answer: the peers set the rate: as many again as may be up.
 * An answer action stays active beside a call action: their rooms add up.
 * @return 256..ENGINE_CALLS_MAX; calls above it are refused with 486 or wait
 */
uint32_t session_count_wanted(const struct wire_job *job);

#endif
