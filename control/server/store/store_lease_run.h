/**
 * The rows of runs from start to verdict: the transitions that no request of an
 * agent causes. Times are parameters, ms since 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LEASE_RUN_H
#define OFFHOOK_SERVER_STORE_STORE_LEASE_RUN_H

#include "base/str.h"
#include "control/server/store/store_lease.h"

/** Read a test as it is now, for a run.
 * @param id    0: by name
 * @param ret   new object: id, name, scenario, project_id, project_name,
 *              agentpool_id, agentpool_name, tags, steps, conditions, record,
 *              callback_on_failure, callback_on_recovery, retries_on_failure,
 *              callback {url, secret, method, content_type, body}
 * @return 0; -ENOENT; -EIO; -ENOMEM */
int store_test_load(struct store *s, int64_t id, const char *name,
		    json_t **ret);

/** Read a pool's credentials as a job carries them, passwords decrypted: new
 * array.
 * @return 0; -ENOENT; -EBADMSG a password was encrypted with another master
 *         key; -EIO; -ENOMEM */
int store_pool_load(struct store *s, int64_t pool_id, json_t **ret);

/** Read a target as a job carries it. @return 0; -ENOENT; -EIO; -ENOMEM */
int store_target_load(struct store *s, int64_t target_id, json_t **ret);

/* A role, or a shard of one. */
struct run_role {
	const char *role;
	uint32_t shard;  /* from 0 */
	uint32_t shards; /* of the role; 0: 1 */
	uint32_t
		agents_min; /* the first so many shards are on different agents */
	bool allow_reduced;  /* the run may go on when this shard is lost */
	json_t *public_spec; /* without passwords */
	json_t *spec;        /* stored encrypted, until the lease ends */
};

struct capacity_turn;
struct run_limits;
struct schedule_turn;

struct run_new {
	const char *session_id;
	json_t *test; /* of store_test_load(), overrides applied, borrowed; id
		       * and project_id 0: none */
	json_t *conditions;
	const char *report_mode;
	const char *kiosk_id; /* NULL: none */
	const char *warning;  /* what its start warns of; "": nothing */
	uint32_t interval_s;
	uint32_t max_duration_s;
	int64_t created_at;
	const struct run_role *roles;
	size_t role_count;
	unsigned retries_left;                /* further attempts allowed */
	unsigned attempt;                     /* from 1 */
	int64_t retry_of_id;                  /* 0: it is the first attempt */
	const char *retry_of;                 /* session of that run; NULL */
	int64_t project_run_id;               /* 0: none */
	int64_t project_position;             /* of the test in it */
	const struct schedule_turn *schedule; /* NULL: of no schedule */
	const struct capacity_turn *capacity; /* NULL: no trial of a search */
	struct run_limits *limits;            /* NULL: none are checked */
};

/**
 * Insert a run in phase `queued` and its leases in state `waiting`, in one
 * transaction. If the run is a further attempt, or the turn of a project run,
 * schedule or capacity search, it takes that turn in the same transaction.
 * @return 0; -EALREADY the turn was taken or called off; -EDQUOT a limit, as
 *         `limits` says; -EIO; -ENOMEM
 */
int store_run_create(struct store *s, const struct run_new *run,
		     int64_t *ret_id);

/**
 * Stop a run for a user, without further attempts: the last attempt is stopped
 * if it is in progress, and further attempts are cancelled. A failure that
 * becomes final by this has its callback due.
 * @param run_id  any attempt
 * @return 0; -ENOENT; -EALREADY the last attempt is stopping or over, and no
 *         further one was due; -EIO
 */
int store_run_stop(struct store *s, int64_t run_id, int64_t now);

struct sweep_times {
	int64_t now;
	int64_t lease_ms;
	int64_t claim_timeout_ms;
	/* No lease expires before this time: agents could not renew while the
	 * controller was not running. */
	int64_t grace_until;
};

/* Time that an agent has to end a job by itself after max_duration. */
#define RUN_OVERTIME_MS 60000

/**
 * Apply all timeouts: lapsed offers wait again, unrenewed leases are lost, runs
 * without agents or above their duration stop, runs whose leases have all ended
 * go to `judging`.
 * @param ret_changed  true: something moved
 * @return 0; -EIO
 */
int store_sweep(struct store *s, const struct sweep_times *times,
		bool *ret_changed);

/* Input of the judge for a run in `judging`. */
struct run_case {
	int64_t id;
	char session_id[UUID_TEXT_BYTES];
	char stop_reason[16]; /* "": the run ended by itself */
	char *description;    /* the reason given when it began to stop */
	json_t *conditions;
	json_t *specs; /* array: of its roles, of each the first shard */
	/* array of {role, shard, reason}: shards that it went on without; shard from 0 */
	json_t *lost;
};

/** Find the next run to judge. @return 1; 0 none; -EIO; -ENOMEM */
int store_run_to_judge(struct store *s, struct run_case *ret);
/** Find the next run after an id that is in progress with a condition that may end it early (stop_early), and
 * that is not ending. @return as store_run_to_judge() */
int store_run_to_watch(struct store *s, int64_t after_id, struct run_case *ret);
/** No more calls are needed: the agents are told, and the run ends by itself.
 * @return 1; 0 it is ending already; -EIO */
int store_run_enough(struct store *s, int64_t run_id, const char *text);
void run_case_release(struct run_case *c);

/**
 * End a run in `judging`. If it failed or errored and has attempts left, the
 * next attempt becomes due, else its callback.
 * @param verdicts  NULL: it was not judged
 * @return 1; 0 another thread ended it first; -EIO
 */
int store_run_done(struct store *s, int64_t run_id, const char *status,
		   const char *description, json_t *verdicts, int64_t now);

#endif
