/**
 * Retention: what the configuration says about the age and size of what is
 * stored, applied to the runs that are over (docs/reference/retention.md).
 */
#ifndef OFFHOOK_SERVER_RETENTION_RETENTION_H
#define OFFHOOK_SERVER_RETENTION_RETENTION_H

#include "control/server/retention/policy.h"

struct controller_conf;
struct store;

/* Runs of one pass: what is left comes with the next. */
#define RETENTION_BATCH 64

/* Ids that a plan names of each kind. */
#define RETENTION_IDS_MAX 1000

struct retention_due {
	int64_t runs;
	int64_t bytes;
	int64_t ids[RETENTION_IDS_MAX];
};

/* What would be deleted, or thinned, now. */
struct retention_plan {
	int64_t stored[RETENTION_KINDS]; /* bytes */
	int64_t measured;                /* runs that these are of */
	struct retention_due due[RETENTION_KINDS];
	struct retention_due thin; /* bytes: before */
};

/** Get the settings. */
struct retention_policy retention_policy(const struct controller_conf *conf);

/** Work out what is due, and change nothing.
 * Thread: the owner of the store. @return 0; -EIO */
int retention_plan(struct store *store, const struct retention_policy *policy,
		   int64_t now_ms, struct retention_plan *ret);

/**
 * Take the next step of a look at what is due: measure some runs; when all are
 * measured, mark up to RETENTION_BATCH runs, or data of them, as deleted or to be
 * thinned, and note it in the audit log.
 * Thread: the owner of the store.
 * @param cursor  in/out; {0} at the first step
 * @return 1 there may be more to do; 0 nothing is due; -EIO; -EBUSY; -ENOMEM
 */
int retention_step(struct store *store, const struct controller_conf *conf,
		   int64_t now_ms, struct retention_cursor *cursor);

#endif
