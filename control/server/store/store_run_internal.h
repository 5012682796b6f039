/** SQL on runs that several files of this folder share. */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_INTERNAL_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_INTERNAL_H

#include "control/server/store/record.h"

/* SQL of `run r`: it is over and judged */
#define RUN_DONE "r.phase = 'done'"

/* SQL of `run r`: it is over, and no further attempt of it is due */
#define RUN_OVER RUN_DONE " AND r.retry_state <> 'due'"

/* SQL behind a status: the run is over and did not pass. One that was stopped is
 * neither. */
#define RUN_NOT_PASSED "IN ('failed', 'errored')"

/* SQL: the run is not being deleted (store_removal.h). The text of the partial
 * index run_shown. */
#define RUN_SHOWN "status <> 'deleted'"

/* SQL: this kind of data of run $1 was not deleted (store_retention.h). What is
 * being deleted in chunks is shown nowhere, not in parts.
 * @param kind  "metrics", "sip" */
#define RUN_HAS(kind)                                             \
	"EXISTS (SELECT 1 FROM run k WHERE k.id = $1 AND k." kind \
	"_removed_at IS NULL)"

/* SQL: this run is over, was not stopped, and no further attempt replaces it: its
 * status is the verdict of its test.
 * @param run  name of the row of `run` */
#define RUN_HAS_VERDICT(run)                                      \
	run ".phase = 'done' AND " run                            \
	    ".status IN ('passed', 'failed', 'errored') AND " run \
	    ".retry_state IN ('none', 'refused')"

/* SQL: the id of the last attempt in the chain of attempts (retries_on_failure)
 * of a run. A later attempt has a higher id.
 * @param condition  SQL on `run` that selects the run */
#define RUN_LAST_ATTEMPT(condition)                                     \
	"(WITH RECURSIVE chain (id, session_id) AS ("                   \
	"SELECT id, session_id FROM run WHERE " condition " UNION ALL " \
	"SELECT n.id, n.session_id FROM chain c JOIN run n "            \
	"ON n.retry_of = c.session_id) SELECT max(id) FROM chain)"

/* The columns that listings show, sort and filter by
 * (docs/reference/api.md). */
extern const struct table store_run_listed;

#endif
