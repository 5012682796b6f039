/**
 * Work that follows a run: its next attempt, the next test of its project run.
 * Every function is one transaction with a compare-and-set. Times are ms since
 * 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_FOLLOW_H
#define OFFHOOK_SERVER_STORE_STORE_FOLLOW_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct schedule_turn;
struct page;
struct store;

/* A failed run that is to start again. */
struct retry_turn {
	int64_t run_id;
	char session_id[UUID_TEXT_BYTES];
	char report_mode[16];
	unsigned attempt;      /* of the new run */
	unsigned retries_left; /* of the new run */
	int64_t project_run_id;
	int64_t project_position;
	json_t *test; /* as the failed run had it; NULL: it was encrypted with
		       * another key file */
};

/** Find the next failed run that is due to start again. @return 1; 0 none;
 * -EIO; -ENOMEM */
int store_retry_next(struct store *s, struct retry_turn *ret);

/** Record that a run cannot start again: its failure becomes final and its
 * callback due. */
int store_retry_refuse(struct store *s, int64_t run_id);

struct project_run_new {
	const char *uuid;
	const char *kiosk_id; /* NULL: none */
	const char *report_mode;
	int64_t project_id;
	const char *project_name;
	json_t *tests;    /* array of {id, name}, in their order; borrowed */
	json_t *callback; /* if it ends failed; borrowed, or NULL */
	const struct schedule_turn *schedule; /* NULL: of no schedule */
	int64_t created_at;
};

/** Read the tests of a project in the order of their ids: new array of {id,
 * name, tags}. @return 0; -EIO; -ENOMEM */
int store_project_tests(struct store *s, int64_t project_id, json_t **ret);

/** Find a project run.
 * @param ret_kiosk_id  of its public link; "": it has none
 * @return 0; -ENOENT; -EIO */
int store_project_run_find(struct store *s, const char *uuid, int64_t *ret_id,
			   char ret_kiosk_id[static UUID_TEXT_BYTES]);

/** Insert a project run and its tests. @return 0; -EALREADY the schedule's turn
 * was taken; -EIO; -ENOMEM */
int store_project_run_create(struct store *s, const struct project_run_new *run,
			     int64_t *ret_id);

/**
 * Read a project run for a client that polls: run_status, project_id,
 * total_tests, tests_started, tests_passed, tests_failed, created_at,
 * stopped_at, runs.
 * @param page      of its runs; NULL: all runs
 * @param ret_runs  count of its runs; may be NULL
 * @return 0; -ENOENT; -EIO; -ENOMEM
 */
int store_project_run_get(struct store *s, const char *uuid,
			  const struct page *page, json_t **ret,
			  int64_t *ret_runs);

/**
 * Stop a project run: cancel tests that wait, stop the run in progress.
 * @return 0; -ENOENT; -EALREADY it is stopping or over; -EIO
 */
int store_project_run_stop(struct store *s, const char *uuid, int64_t now);

/**
 * End the public link of a project run and of its runs. Runs that start later
 * get none.
 * @return 0; -ENOENT it has none; -EIO
 */
int store_project_run_revoke(struct store *s, const char *uuid);

/** End tests whose last attempt is over, and project runs of which all tests
 * are over.
 * @return 1 something moved; 0; -EIO */
int store_project_runs_advance(struct store *s, int64_t now);

/* The next test to start of a project run. */
struct project_turn {
	int64_t project_run_id;
	int64_t position;
	int64_t test_id;
	char test_name[256];
	int64_t project_id;
	char project_name[256];
	char report_mode[16];
};

/** Find the next test to start. @return 1; 0 none; -EIO */
int store_project_turn_next(struct store *s, struct project_turn *ret);

/**
 * Record that a test could not be started, as an errored run with the reason.
 * @param test  of store_test_load(); NULL: the test was deleted
 * @return 0; -EALREADY the turn was taken; -EIO; -ENOMEM
 */
int store_project_turn_refuse(struct store *s, const struct project_turn *turn,
			      const json_t *test, const char *text,
			      int64_t now);

#endif
