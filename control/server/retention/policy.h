/**
 * What is due to be deleted: by age, and by size, of each kind; what is due to be
 * thinned. Pure functions.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RETENTION_POLICY_H
#define OFFHOOK_SERVER_RETENTION_POLICY_H

#include "control/server/store/store_retention.h"

/* 0: no limit */
struct retention_limit {
	int64_t age_ms;
	int64_t bytes;
};

struct retention_policy {
	struct retention_limit limits[RETENTION_KINDS];
	int64_t thin_ms; /* age at which metrics are thinned; 0: never */
};

/** True if anything is limited. */
bool retention_limits_anything(const struct retention_policy *policy);

/**
 * Decide about a run that is over. To be called for all of them, those that ended
 * first at first: the oldest make room.
 * @param now_ms  wall clock
 * @param stored  in/out: bytes of each kind; what is due is taken off
 * @return bits 1u << enum retention_kind, and RETENTION_THIN; RETENTION_RUN stands
 *         alone; 0: it stays as it is, as every run with `keep` does
 */
unsigned retention_due(const struct retention_policy *policy, int64_t now_ms,
		       const struct retention_run *run,
		       int64_t stored[RETENTION_KINDS]);

#endif
