/**
 * What the last runs of tests say: state, since when, flaky or not. One narrow
 * row a run that is over (run_verdict), so that 1000 tests are read at once.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_VERDICT_H
#define OFFHOOK_SERVER_STORE_STORE_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct store;

/* The runs of a test that its history shows, and that `flaky` looks at. */
#define VERDICT_RUNS 21

/* With so many changes from passed to failed or back, a test is flaky. */
#define VERDICT_CHANGES 2

/* With so many failed runs since the last other verdict a flaky test counts as
 * failing. */
#define VERDICT_STREAK 3

/* The states, the worst first. */
#define VERDICT_STATES "failed flaky errored stopped never_run passed"

/* Hex digits of what a run was started with, and a terminator. */
#define VERDICT_PRINT_BYTES 33

/**
 * Hash what a run is started with: steps and conditions, overrides applied.
 * @return 0; -ENOMEM (print is "")
 */
int verdict_print(const json_t *steps, const json_t *conditions,
		  char print[static VERDICT_PRINT_BYTES]);

/** Record the verdict of a run that has just become `done`, within its
 * transaction. @return 0; -EIO */
int verdict_insert(struct db *db, int64_t run_id);

/**
 * Read a number that changes with the verdicts, tests and projects stored.
 * @param name  "verdicts", or "verdicts_gone": only when some were deleted
 * @return 0; -EIO
 */
int store_revision(struct store *s, const char *name, int64_t *ret);

/** A selection of tests; NULL or false: any. */
struct verdict_query {
	int64_t test_id;     /* one test alone; 0: any */
	const char *name;    /* part of the test's name, any case of ASCII */
	const char *project; /* name of its project */
	const char *tag;
	const char *state; /* a word of VERDICT_STATES */
	bool broken;       /* failed, flaky or errored */
	bool recent;       /* latest runs first; false: the worst state first,
			    * then by name */
	int64_t start;     /* of the page: tests to leave out, tests on it */
	int64_t count;
};

/**
 * Read the states of tests. The last runs of all tests are kept until the
 * revision changes, for all stores of the process.
 * @param ret     new array of {test_id, test_name, project_id, project_name,
 *                tags, state, flaky, changes, streak, since, cause, first,
 *                last, runs}; docs/reference/api.md, "States of tests"
 * @param counts  new object: tests of each state, before `state`, `broken` and
 *                the page apply; may be NULL
 * @param total   selected tests without the page
 * @return 0; -EIO; -EBUSY; -ENOMEM
 */
int store_verdicts(struct store *s, const struct verdict_query *query,
		   json_t **ret, json_t **counts, int64_t *total);

/** The runs of a test that say whether it is flaky. */
struct verdict_history {
	unsigned changes; /* from passed to failed or back */
	size_t count;
	struct verdict_judged {
		int64_t run_id;
		int64_t started_at; /* ms since 1970 */
		bool failed;
	} runs[VERDICT_RUNS]; /* newest first: those of the last VERDICT_RUNS
			       * that passed or failed, with the test as in the
			       * newest of them */
};

/**
 * Read these runs of one test, from what store_verdicts() keeps.
 * @return 0; -ENOENT there is no such test; -EIO; -EBUSY; -ENOMEM
 */
int store_verdict_history(struct store *s, int64_t test_id,
			  struct verdict_history *ret);

/**
 * Find the last runs that had passed when a run of the same test was started.
 * @param max  at most so many
 * @param ret  their ids, the newest first
 * @return how many; -EIO
 */
int store_verdict_passed_before(struct store *s, int64_t run_id, size_t max,
				int64_t *ret);

#endif
