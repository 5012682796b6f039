/**
 * Capacity searches that the controller drives: trials are runs, one after another
 * (docs/internals/orchestration.md). All state is in the database.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_CAPACITY_CAPACITY_H
#define OFFHOOK_SERVER_CAPACITY_CAPACITY_H

#include "base/str.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct controller_conf;
struct step_param;
struct store;

/* Trials of a search; `offhook capacity` allows more. */
#define CAPACITY_TRIALS_MAX 200

/** Parameters of a search. @return constant; NULL: no more */
const struct step_param *capacity_param_at(size_t i);

struct capacity_start {
	json_t *test;   /* of store_test_load(); overrides are applied to it */
	json_t *values; /* the search's parameters by their names; borrowed */
	json_t *overrides;        /* flat keys of a start; borrowed, or NULL */
	const char *const *known; /* NULL-terminated: keys of them that were
				   * read elsewhere */
	const char
		*pointer; /* where they stand in the body: "", "/overrides" */
	int64_t key_id;   /* as of a run */
};

/**
 * Check everything a trial at the lowest and at the highest load needs, and make the rows of a
 * search. Its first trial starts with the next pass of the run engine.
 * @param errors  array; what is wrong is added as {pointer, detail}
 * @return 0; -EINVAL errors has the reasons; -EBADMSG a password cannot be read; -EBUSY the
 *         Idempotency-Key has lapsed; -EIO; -ENOMEM
 */
int capacity_start(struct store *store, const struct controller_conf *conf,
		   const struct capacity_start *start, json_t *errors,
		   int64_t *ret_id);

/**
 * Move searches on: take the outcome of trials that have ended, start those that are due.
 * @param now  ms since 1970
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
int capacity_follow(struct store *store, const struct controller_conf *conf,
		    int64_t now);

#endif
