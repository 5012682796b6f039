/**
 * What changed between two runs of the store (docs/reference/differences.md).
 * Thread: the owner of the store; reads it only.
 */
#ifndef OFFHOOK_SERVER_COMPARE_RUN_DIFFERENCE_H
#define OFFHOOK_SERVER_COMPARE_RUN_DIFFERENCE_H

#include <jansson.h>

struct store;

/**
 * Compare two runs.
 * @param before, after  of store_run_get(), borrowed
 * @param ret            new object: differences, further
 *                       (control/server/difference/difference.h)
 * @return 0; -ENOMEM; -EIO
 */
int run_difference(struct store *store, const json_t *before,
		   const json_t *after, json_t **ret);

/**
 * Find the last run of the same test before a run that passed.
 * @param run  of store_run_get(), borrowed
 * @param ret  as of store_run_get(), new reference
 * @return 0; -ENOENT there is none; -ENOMEM; -EIO
 */
int run_last_passed(struct store *store, const json_t *run, json_t **ret);

/**
 * Compare a run with the last run of its test before it that passed.
 * @param ret  as of run_difference()
 * @return 0; -ENOENT there is none; -ENOMEM; -EIO
 */
int run_difference_last_passed(struct store *store, const json_t *run,
			       json_t **ret);

#endif
