/**
 * Error bounds of the figures of a run (docs/reference/calibration.md).
 * Thread: worker threads.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_BOUNDS_H
#define OFFHOOK_SERVER_STORE_STORE_BOUNDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct store;

/**
 * Read the bounds that hold for all agents of a role: the largest of them. A role has none of
 * a figure as long as one of its jobs has not told what its host measured of itself, or if more
 * calls were up at once there than that holds for. Shards that were lost do not count.
 * @param ret  {role: {jitter_bound_ms, rtt_bound_ms, loss_bound_pct}}, what is known of these
 * @return 0; -ENOMEM; -EIO
 */
int store_bounds_read(struct store *store, int64_t run_id, json_t **ret);

/**
 * Find the bound of a measure in its own unit.
 * @param bounds  of store_bounds_read()
 * @return false: the measure has no bound, and ret is unchanged
 */
bool store_bounds_find(const json_t *bounds, const char *role, const char *dir,
		       const char *measure, double *ret);

#endif
