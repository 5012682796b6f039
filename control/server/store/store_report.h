/**
 * Named operations for the report of a run. Each gives JSON as the report
 * page takes it (docs/reference/report.md), ordered, with a ceiling.
 * Thread: worker threads.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_REPORT_H
#define OFFHOOK_SERVER_STORE_STORE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct store;

/* Ceilings of a report; what is beyond is counted, not shown. */
#define REPORT_EVENTS_MAX   5000
#define REPORT_MESSAGES_MAX 2000
#define REPORT_POINTS_MAX   200000

/**
 * The run's own fields.
 * @param kiosk_id  must be the run's, or NULL
 * @param ret       {run: {...}, verdicts: [...], interval_s: n}, new
 * @return the run's id, > 0; -ENOENT; -ENOMEM; -EIO
 */
int64_t store_report_run(struct store *store, const char *session_id,
			 const char *kiosk_id, json_t **ret);

/**
 * How a run goes on that failed and starts again (retries_on_failure).
 * @param is_public  links are the public ones
 * @param ret  null: this attempt is the last one. Else {status, attempt, link}
 *             of the last one: status is `running` while a further attempt is
 *             due or running; link is the path of its report, or null
 * @return 0; -ENOMEM; -EIO
 */
int store_report_last_attempt(struct store *store, int64_t run_id,
			      bool is_public, json_t **ret);

/**
 * Events of one kind, in order of arrival, each with its `role`.
 * @param ret  new array of at most REPORT_EVENTS_MAX
 * @return 0; -ENOMEM; -EIO
 */
int store_report_events(struct store *store, int64_t run_id, const char *kind,
			json_t **ret);

/**
 * Every series with its points {t, n, min, avg, max}; where several agents
 * share a role the points of one interval are joined (these figures join
 * exactly, percentiles do not and are not here).
 */
int store_report_series(struct store *store, int64_t run_id, json_t **ret);

/**
 * SIP messages as they were uploaded, with their `role`, by time.
 * @param ret_total  how many there are altogether
 */
int store_report_messages(struct store *store, int64_t run_id, json_t **ret,
			  int64_t *ret_total);

#endif
