/**
 * When the calls of a generator are due: a rate that rises linearly to its
 * ceiling. Calls that cannot begin when they are due, as no RTP port (or
 * media session) is free: they wait, and what falls due meanwhile is missed.
 * docs/internals/engine.md has the rules.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_CALL_STARTS_H
#define OFFHOOK_AGENT_ENGINE_JOB_CALL_STARTS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct actions;
struct wire_action;

/* A loop that was later than this is the cause, not the port range. */
#define STARTS_LATE_NS (250 * NS_PER_MS)
/* For so long after a late turn, missed starts are attributed to the loop. */
#define STARTS_LATE_FOR_NS (10 * NS_PER_S)
/* How long to wait for ports that other processes hold. */
#define STARTS_FOREIGN_NS (5 * NS_PER_S)
/* While a start waits it is tried this often, besides whenever a call ends. */
#define STARTS_RETRY_MS 100
/* While max_concurrent_calls holds the generator up, a late loop is noticed by
 * a timer of this period. */
#define STARTS_WATCH_MS 100

struct call_starts {
	bool waits;       /* the next one, for a port or a session */
	int64_t since_ns; /* waits: since when */
	uint64_t missed;  /* of the whole job */
	int64_t late_ns;  /* the loop's latest turn of STARTS_LATE_FOR_NS */
	int64_t late_at_ns;
	/* while a start waited or was missed: the evidence */
	uint32_t lingered_max;
	int64_t late_max_ns;
};

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
int64_t call_starts_next_ns(int64_t at_ns, double per_second,
			    uint32_t ramp_up_s);

/** A timer of the generator fired. @param late_ns  after it was due */
void call_starts_late(struct call_starts *s, int64_t late_ns, int64_t now_ns);

/**
 * No port or no session is free for a call that is due.
 * @param action  of the generator
 * @return true: wait; false: it would be in vain, the job was ended
 */
bool call_starts_wait(struct actions *actions, const struct wire_action *action,
		      int64_t now_ns);

/** The start that waited was made. @param missed  starts that were due since */
void call_starts_over(struct call_starts *s, uint64_t missed);

/** The generator, not the port range or the peer, kept calls from starting. */
bool call_starts_saturated(const struct call_starts *s);

#endif
