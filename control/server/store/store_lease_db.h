/**
 * Shared by the files on leases. Included by store_lease_*.c, store_ingest*.c
 * only.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_DB_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_DB_H

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <jansson.h>

/**
 * Begin to stop an active run: store the reason, cancel waiting leases.
 * @return 1; 0 it was already stopping or over; -EIO
 */
int lease_run_stopping(struct db *db, int64_t run_id, const char *stop_reason,
		       const char *text, int64_t now);

/**
 * Let a run go on without a shard that is being lost, if its role allows that and has
 * another shard that is not lost. The caller sets the lease to `lost`.
 * @return 1; 0 the run ends; -EIO
 */
int lease_run_reduced(struct db *db, int64_t run_id, const char *lease_id);

/**
 * Cancel further attempts of runs. If one was due, the failure becomes final
 * and its callback due.
 * @param column  of table `run`, never from a client
 * @return number of runs that had, or could have had, a further attempt; -EIO
 */
int retry_call_off(struct db *db, const char *column, int64_t value);

/** Run a statement that returns no rows. */
int lease_exec(struct db *db, const char *sql, const struct db_value *params,
	       size_t count);

/** Read the first column of the first row as integer; 0 if there is no row. */
int lease_integer(struct db *db, const char *sql, const struct db_value *params,
		  size_t count, int64_t *ret);

/* Condition for runs that are not over. SQLite uses the partial index
 * run_active only if the query has exactly the text of the index's condition;
 * otherwise it reads all stored runs. */
#define RUN_ACTIVE "phase <> 'done' "

/* SQL of an agent: it takes jobs, if it was also seen within the lease time */
#define AGENT_TAKES_JOBS "disconnected = 0 AND draining = 0 AND held = 0 "

/* SQL: the others wait at a barrier for this lease. One that is lost ends the run, or the
 * run goes on without it. */
#define LEASE_HOLDS_UP \
	"state <> 'lost' AND NOT (state = 'finished' AND outcome = 'completed')"

/* Delay of the common start: enough to answer every parked request before. */
#define LEASE_GO_DELAY_MS 250
/* Likewise of shards, whose start is compared: another controller that did not hear of it
 * looks after a second (announcer.c). */
#define LEASE_GO_SHARDS_MS (1000 + LEASE_GO_DELAY_MS)

#define LEASE_PARAMS(params) (params), sizeof(params) / sizeof((params)[0])

/* Purpose of the boxes in lease.secret_box. */
#define LEASE_BOX "lease spec"

/* Purpose of the boxes in credential.password_box. */
#define CREDENTIAL_BOX "credential"

/* Purpose of the boxes in callback.request_box. */
#define REQUEST_BOX "callback request"

/* Purpose of the boxes in run.retry_box. */
#define RETRY_BOX "run retry"

/* Purpose of the boxes in capacity_search.test_box. */
#define CAPACITY_BOX "capacity test"

/* Purpose of the boxes in test.callback_secret_box. */
#define CALLBACK_SECRET_BOX "callback secret"

/* Purpose of the boxes in callback_box of run and project_run. */
#define CALLBACK_BOX "callback"

/**
 * Encrypt what a run or project run needs for its callback.
 * @param callback  {url, secret, method, content_type, body}, or NULL
 * @param ret       allocated; stays NULL without a url
 * @return 0; -ENOMEM
 */
int callback_seal(struct store *s, json_t *callback, uint8_t **ret,
		  size_t *ret_len);

/** Get the callback of a test. @return borrowed; NULL: callback_on_failure and
 * callback_on_recovery are off */
json_t *callback_wanted(const json_t *test);

/** Get the verdicts that the callback of a test is about, as run.callback_on
 * has them. */
const char *callback_on(const json_t *test);

#endif
