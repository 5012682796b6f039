/**
 * Limits of runs in progress and of stored bytes, checked in the transaction that
 * starts a run: starts at the same time cannot exceed them together.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_LIMIT_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_LIMIT_H

#include <stdint.h>

struct db;

enum run_limit_kind {
	RUN_LIMIT_KEY_RUNS,
	RUN_LIMIT_PROJECT_RUNS,
	RUN_LIMIT_PROJECT_BYTES,
	RUN_LIMIT_KINDS
};

/* Of the start of a run. */
struct run_limits {
	int64_t key_id;                 /* as of run.key_id; 0: of no key */
	int64_t limit[RUN_LIMIT_KINDS]; /* 0: none */
	/* set if the start is refused */
	enum run_limit_kind exceeded;
	int64_t present; /* runs or bytes without the new one */
};

/**
 * @param project_id  of the test; 0: of no project, which has no limits
 * @return 0 the run may start; -EDQUOT it may not; -EIO
 */
int run_limits_check(struct db *db, struct run_limits *limits,
		     int64_t project_id);

#endif
