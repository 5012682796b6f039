/**
 * What changed between two runs of the store (docs/reference/differences.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_RUN_DIFFERENCE_H
#define OFFHOOK_SERVER_REPORT_RUN_DIFFERENCE_H

#include <jansson.h>

struct reply;
struct request;
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
 * Compare a run with the last run of its test before it that passed.
 * @param ret  as of run_difference()
 * @return 0; -ENOENT there is none; -ENOMEM; -EIO
 */
int run_difference_last_passed(struct store *store, const json_t *run,
			       json_t **ret);

/** GET /runs/:id/differences */
void run_differences(struct request *req, struct reply *rep);

#endif
