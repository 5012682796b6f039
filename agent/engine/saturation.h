/**
 * Whether the load generator itself was the limit: how late its packets and timers
 * were, what the host took from it. One `generator` event an interval, figures of the
 * whole job in `evidence`, and a flaw where a limit of the agent's configuration is
 * exceeded (docs/internals/engine.md).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_ENGINE_SATURATION_H
#define OFFHOOK_AGENT_ENGINE_SATURATION_H

#include "agent/engine/account/engine_settings.h"
#include "control/wire/event.h"

#include <stdbool.h>
#include <stdint.h>

struct lateness;
struct report;
struct saturation;

/* A timer of the loop that is due this often measures how late timers are. */
#define SATURATION_TICK_MS 20
/* Fewer late packets or ticks than this prove nothing: 100 ms of one call. */
#define SATURATION_LATE_MIN 5

struct saturation_params {
	const struct saturation_limits *limits; /* borrowed */
	struct report *report;                  /* borrowed */
	uint32_t interval_s;                    /* > 0 */
};

/* Counters of the job until now. */
struct saturation_counters {
	uint64_t packets_sent;
	uint64_t packets_received;
	uint64_t receive_queue_drops;
	uint64_t ring_drops;
	uint64_t starts_missed;
	bool sip_known;
	uint64_t sip_queue_drops;
};

/**
 * Open what is read of the host: before the sandbox. It measures from
 * saturation_start() on.
 * @return 0; -ENOMEM
 */
int saturation_new(struct saturation **ret,
		   const struct saturation_params *params);
/** @param s  NULL is allowed @return NULL */
struct saturation *saturation_free(struct saturation *s);

/** Begin to measure. @param sent  of the packets, borrowed until saturation_end() */
void saturation_start(struct saturation *s, const struct lateness *sent);
/** Once a second: end an interval that is over. */
void saturation_second(struct saturation *s, int64_t now_ns,
		       const struct saturation_counters *counters);
/** End the last interval; report the flaw of the job, if it is saturated.
 * @param ret  figures of the whole job */
void saturation_end(struct saturation *s, int64_t now_ns,
		    const struct saturation_counters *counters,
		    struct wire_generator *ret);

#endif
