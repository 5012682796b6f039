/**
 * The one way a run begins: from a test to its rows. Requests start runs, and
 * so does what follows a run (follow.h).
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_START_H
#define OFFHOOK_SERVER_RUN_START_H

#include "control/server/run/calibrated.h"
#include "control/server/store/store_follow.h"
#include "control/server/store/store_run_limit.h"

struct capacity_turn;
struct controller_conf;
struct run_limits;

struct run_start {
	json_t *test; /* of store_test_load(), overrides applied; borrowed */
	const char *report_mode;
	unsigned retries_left; /* times it may start again when it fails */
	const struct retry_turn *retry;       /* NULL: it is a first attempt */
	const struct project_turn *project;   /* NULL: of no project run */
	const struct schedule_turn *schedule; /* NULL: of no schedule */
	const struct capacity_turn *capacity; /* NULL: no trial of a search */
	struct run_limits *limits;            /* NULL: none are checked */
};

struct run_started {
	char session_id[UUID_TEXT_BYTES];
	char kiosk_id[UUID_TEXT_BYTES]; /* "" unless the mode is kiosk */
	int64_t id;
	char warning
		[CALIBRATED_TEXT_BYTES]; /* ""; more calls than its agents are
					      * calibrated for */
};

/**
 * Plan a run and make its rows.
 * @param errors  array; what is wrong with the test is added as {pointer,
 *                detail}
 * @return 0; -EINVAL errors has the reasons; -EALREADY the turn was taken;
 *         -EDQUOT a limit, as start->limits says; -EBADMSG a password cannot be
 *         read; -EIO; -ENOMEM
 */
int run_start(struct store *store, const struct controller_conf *conf,
	      const struct run_start *start, json_t *errors,
	      struct run_started *ret);

/**
 * Check a test as run_start() would; nothing is started.
 * @param test    of store_test_load(), overrides applied; borrowed
 * @param errors  array; what is wrong is added as {pointer, detail}
 * @return 0 (see errors); -EBADMSG a password cannot be read; -EIO; -ENOMEM
 */
int run_check(struct store *store, const struct controller_conf *conf,
	      json_t *test, json_t *errors);

/** The configured limits of a start. @param key_id  as of a run */
struct run_limits run_start_limits(const struct controller_conf *conf,
				   int64_t key_id);

/**
 * Start a stored test as it is, with its retries.
 * @param start     its test and retries_left are set here
 * @param ret_test  the test, a new reference, as far as it could be read; else
 *                  NULL; also on failure
 * @return as run_start(); -ENOENT no such test
 */
int run_start_stored(struct store *store, const struct controller_conf *conf,
		     int64_t test_id, struct run_start *start, json_t *errors,
		     json_t **ret_test, struct run_started *ret);

/**
 * What a queued run waits for (store_waiting.h), as JSON.
 * @return new reference: a string; null if it waits for nothing, or if that
 *         could not be read
 */
json_t *run_waiting_for(struct store *store, const struct controller_conf *conf,
			int64_t run_id);

#define RUN_REFUSAL_BYTES 700

/** True if an error of a start would be the same at the next try. */
bool run_is_refusal(int err);

/** The sentence for a run that could not be started.
 * @param errors  of run_start() or project_run_start() */
void run_refusal(char text[static RUN_REFUSAL_BYTES], int err,
		 const json_t *errors);

#endif
