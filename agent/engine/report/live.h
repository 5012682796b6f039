/**
 * The live line: totals since the start, figures of the last second over all
 * calls (docs/internals/wire.md, LIVE).
 * Thread: the loop thread.
 */
#ifndef OFFHOOK_AGENT_ENGINE_REPORT_LIVE_H
#define OFFHOOK_AGENT_ENGINE_REPORT_LIVE_H

#include "media/analysis/summary.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct live_mean {
	double sum;
	uint64_t n;
};

struct live_direction {
	uint64_t packets;
	bool has_loss;
	int64_t lost;
	uint64_t expected;
	struct live_mean jitter_ms; /* since the last live_encode() */
	struct live_mean rtt_ms;
	struct live_mean mos;
};

/** All zero: nothing yet. */
struct live {
	struct live_direction directions[2]; /* in, out */
};

/** Add one second of a stream. */
void live_second(struct live *l, bool outgoing,
		 const struct stream_second *second);

/** Make the message `live`, and clear the last second's figures.
 * @return a new reference, NULL when out of memory */
json_t *live_encode(struct live *l, unsigned calls_active);

#endif
