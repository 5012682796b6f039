/**
 * The statistics of one job that several engines carry out: the points of the engines
 * become one point a series and interval, as one engine would have sent it. The
 * controller keeps the first point of a series, interval and lease and ignores others.
 * Thread: one at a time; pure.
 */
#ifndef OFFHOOK_AGENT_MERGE_INTERVAL_MERGE_H
#define OFFHOOK_AGENT_MERGE_INTERVAL_MERGE_H

#include <jansson.h>
#include <stdint.h>

struct interval_merge;

/* Intervals that wait for an engine; the oldest goes without it where there are more. */
#define INTERVAL_MERGE_OPEN_MAX 32u

/** The points of an interval. @param series  an array, borrowed */
typedef void(interval_merge_h)(json_t *series, void *arg);

struct interval_merge_params {
	uint32_t engines;       /* 2 to WIRE_ENGINES_MAX */
	uint32_t interval_s;    /* > 0 */
	const char *role;       /* borrowed */
	int64_t wall_offset_ns; /* wall clock minus monotonic */
	interval_merge_h *points_h;
	void *arg;
};

/** @return 0; -ENOMEM */
int interval_merge_new(struct interval_merge **ret,
		       const struct interval_merge_params *params);
/** Free it with what waits. Accepts NULL. @return NULL */
struct interval_merge *interval_merge_free(struct interval_merge *m);

/**
 * Take the items of a message `stats` (docs/internals/wire.md): points, calls of a second, and
 * which intervals are closed. points_h is called for the intervals that all engines
 * have closed.
 * @param engine  from 0
 * @param items   borrowed; what is no item of these is counted as dropped
 */
void interval_merge_add(struct interval_merge *m, uint32_t engine,
			json_t *items);

/** An engine sends nothing more. After the last one nothing waits. */
void interval_merge_end(struct interval_merge *m, uint32_t engine);

/** Items that came after their interval was sent, twice, or malformed. */
uint64_t interval_merge_dropped(const struct interval_merge *m);

#endif
