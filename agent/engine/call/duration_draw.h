/**
 * Random call durations, reproducible by their seed.
 * Thread: one owner.
 */
#ifndef OFFHOOK_AGENT_ENGINE_CALL_DURATION_DRAW_H
#define OFFHOOK_AGENT_ENGINE_CALL_DURATION_DRAW_H

#include "control/wire/duration.h"

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood: OOPSLA 2014): the state is the seed. */
struct duration_draw {
	uint64_t state;
};

/** Uniform in (0, 1). */
double duration_draw_unit(struct duration_draw *d);

/** A duration, ns, >= 0 and at most a day; a normal one below 0 is 0. */
int64_t duration_draw_ns(struct duration_draw *d,
			 const struct wire_duration *duration);

#endif
