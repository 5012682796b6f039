/**
 * When the calls of a generator are due: the rate rises linearly to its ceiling. A
 * call that cannot begin, as no RTP port (or media session) is free, waits; calls
 * that are due meanwhile are missed, and so are those that a late loop delayed by more
 * than STARTS_BUNCH_NS (docs/internals/engine.md).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_JOB_CALL_STARTS_H
#define OFFHOOK_AGENT_ENGINE_JOB_CALL_STARTS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct actions;
struct wire_action;

/* If the loop was later than this, missed starts are the loop's fault and not the
 * port range's. */
#define STARTS_LATE_NS (250 * NS_PER_MS)
/* How long after a late turn missed starts are attributed to the loop. */
#define STARTS_LATE_FOR_NS (10 * NS_PER_S)
/* How long to wait for ports that other processes hold. */
#define STARTS_FOREIGN_NS (5 * NS_PER_S)
/* While a start waits it is tried again this often, and whenever a call ends. */
#define STARTS_RETRY_MS 100
/* While max_concurrent_calls holds the generator up, a late loop is noticed by
 * a timer of this period. */
#define STARTS_WATCH_MS 100

/* Starts of calls that a late loop delayed for longer are missed, not made in a bunch.
 * Registrations are delayed, all that follow. */
#define STARTS_BUNCH_NS (100 * NS_PER_MS)

struct call_starts {
	bool waits;       /* the next start waits for a port or a session */
	int64_t since_ns; /* since when it waits */
	uint64_t missed;  /* of the whole job */
	int64_t late_ns;  /* how late the loop was, last STARTS_LATE_FOR_NS */
	int64_t late_at_ns;
	/* while a start waited or was missed: the evidence */
	uint32_t lingered_max;
	int64_t late_max_ns;
};

/**
 * When a call is due, by its number. While the rate rises, rate(t) = per_second * t /
 * ramp_up_s, so that per_second * ramp_up_s / 2 calls are due until the full rate
 * is reached. No call depends on the one before it: engines that place every N-th
 * call each keep one schedule together.
 * @param number      from 0, which is due at once; a fraction lies between two calls
 * @param per_second  the full rate, > 0
 * @param ramp_up_s   seconds until it is reached; 0: at once
 * @return ns since the generator began
 */
int64_t call_starts_due_ns(double number, double per_second,
			   uint32_t ramp_up_s);

/**
 * The inverse: the number of calls that are due after the first one until a time.
 * @param at_ns  since the generator began, >= 0
 */
double call_starts_number(int64_t at_ns, double per_second, uint32_t ramp_up_s);

/** A timer of the generator fired. @param late_ns  after it was due */
void call_starts_late(struct call_starts *s, int64_t late_ns, int64_t now_ns);

/**
 * No port or no session is free for a call that is due.
 * @param action  of the generator
 * @return true: wait; false: waiting cannot help, the job was ended
 */
bool call_starts_wait(struct actions *actions, const struct wire_action *action,
		      int64_t now_ns);

/** The start that waited was made.
 * @param missed  starts that were due meanwhile */
void call_starts_over(struct call_starts *s, uint64_t missed);

/** Whether the agent's own load, not the port range or the peer, delayed starts. */
bool call_starts_saturated(const struct call_starts *s);

#endif
