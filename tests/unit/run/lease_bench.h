/**
 * A database with a pool "lab" of two agents, and runs of two roles in it. The
 * time is a parameter.
 */
#ifndef TESTS_UNIT_RUN_LEASE_BENCH_H
#define TESTS_UNIT_RUN_LEASE_BENCH_H

#include "control/server/store/store_lease_agent.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/temp.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define T0 INT64_C(1700000000000)

struct bench {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
	int64_t agents[2];
	int64_t run_id;                   /* the last run */
	char session_id[UUID_TEXT_BYTES]; /* likewise */
	size_t role_count;                /* of the last run */
	bool allow_reduced; /* of bench_run_shards(); false at the start */
};

/**
 * Open the database.
 * @param capacity  jobs that each agent takes
 */
void bench_open(struct bench *b, int64_t capacity);
/** As bench_open(), in an empty database. @param database  of database_open();
 * NULL: a file that bench_close() removes */
void bench_open_at(struct bench *b, const char *database, int64_t capacity);
/** As bench_open(), in the PostgreSQL database whose URI OFFHOOK_TEST_DATABASE has,
 * which is emptied; in a file if that is not set */
void bench_open_either(struct bench *b, int64_t capacity);
void bench_close(struct bench *b);

/** Execute a statement. */
void bench_sql(struct bench *b, const char *sql);

/** Add a run that waits for agents: roles callee and caller. */
void bench_run(struct bench *b);
/** As bench_run(), with the callee only. */
void bench_run_alone(struct bench *b);

/** As bench_run(), with a caller that is divided. @param shards  at most 8 */
void bench_run_shards(struct bench *b, uint32_t shards, uint32_t agents_min);

struct lease_times bench_times(int64_t now);

/**
 * An agent polls for jobs.
 * @param store  the bench's, or another connection
 */
json_t *bench_poll(struct bench *b, struct store *store, int agent,
		   int64_t free_jobs, int64_t now);
/**
 * Return the lease of a job.
 * @return borrowed
 */
const char *bench_lease(json_t *jobs, size_t i);

/** @return as run_advance() */
int bench_sweep(struct bench *b, int64_t now, int64_t grace_until);

/**
 * Expect a value in a column of the only run.
 * @param value  a part of it; "": the column is empty
 */
void bench_expect(struct bench *b, const char *column, const char *value);

/**
 * Lease the whole run to agent 0 and confirm it.
 * @return its jobs
 */
json_t *bench_start(struct bench *b, int64_t now);

void bench_finish(struct bench *b, const char *lease, const char *outcome,
		  int64_t now);

#endif
