/**
 * The data of a run's report (docs/reference/report.md) as JSON: ordered, with
 * ceilings.
 * Thread: worker threads.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_REPORT_H
#define OFFHOOK_SERVER_STORE_STORE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct store;
struct writer;

/* Ceilings of a report; records above them are counted, not shown. */
#define REPORT_EVENTS_MAX   5000
#define REPORT_FIGURES_MAX  200000 /* calls that figures of files are of */
#define REPORT_MESSAGES_MAX 2000
#define REPORT_POINTS_MAX   200000

/** A run as its report shows it. */
struct report_run {
	int64_t id;
	json_t *shown;      /* the run's own fields; owned */
	char *verdicts;     /* JSON text of an array; owned */
	int64_t interval_s; /* between the points of a series */
};

/**
 * Read a run.
 * @param kiosk_id  must be the run's, or NULL
 * @param ret       report_run_release(); untouched on failure
 * @return 0; -ENOENT; -ENOMEM; -EIO
 */
int store_report_run(struct store *store, const char *session_id,
		     const char *kiosk_id, struct report_run *ret);
void report_run_release(struct report_run *run);

/* Runs of the same test that a report shows, itself among them. */
#define REPORT_HISTORY_RUNS 21

/**
 * Read the runs of the same test around a run, oldest first: [{id,
 * session_id, status, started_at}]. The run is always among them.
 * @return 0; -ENOMEM; -EIO
 */
int store_report_history(struct store *store, int64_t run_id, json_t **ret);

/**
 * Read the state of the last attempt of a run (retries_on_failure).
 * @param is_public  links are the public ones
 * @param ret  null: this attempt is the last one. Else {status, attempt, link}
 *             of the last one: status is `running` while a further attempt is
 *             due or running; link is the path of its report, or null
 * @return 0; -ENOMEM; -EIO
 */
int store_report_last_attempt(struct store *store, int64_t run_id,
			      bool is_public, json_t **ret);

/**
 * Append a JSON array of the events of one kind, in order of arrival: their
 * text as uploaded, with the `role` of the lease in each. At most
 * REPORT_EVENTS_MAX.
 * @return 0; -ENOMEM; -EIO; -EMSGSIZE (the array is incomplete)
 */
int store_report_events(struct store *store, int64_t run_id, const char *kind,
			struct buf *text);

/** Count the events of a kind. @return 0; -EIO */
int store_report_event_count(struct store *store, int64_t run_id,
			     const char *kind, int64_t *ret);

/**
 * Write an array of every series with its points {t, n, min, avg, max}, and its `bound`
 * (store_bounds.h) where it has one. If several agents share a role the points of one interval are merged. These
 * figures merge exactly; percentiles would not and are left out.
 * @param ret_omitted  points above REPORT_POINTS_MAX, which are not written
 * @return 0; -EIO; or the writer's error
 */
int store_report_series(struct store *store, int64_t run_id, struct writer *w,
			const char *name, int64_t *ret_omitted);

/**
 * Write an array of the series of some measures, without a name, as
 * store_report_series() does; what is above REPORT_POINTS_MAX is not counted.
 * @param measures  their names; ends with NULL
 * @return as store_report_series()
 */
int store_report_plots(struct store *store, int64_t run_id,
		       const char *const *measures, struct writer *w);

/** Read the agents of a run: [{role, name}]. @return 0; -ENOMEM; -EIO */
int store_report_agents(struct store *store, int64_t run_id, json_t **ret);

/** Read the shards of the roles that have several: [{role, shard, shards, agent, state,
 * reason, calls, calls_per_second, start_offset_ms, clock_error_ms}]. @return 0; -ENOMEM;
 * -EIO */
int store_report_shards(struct store *store, int64_t run_id, json_t **ret);

/** Read the specs of the roles of a run (docs/internals/wire.md, The job),
 * without secrets. @return 0 and an array; -ENOMEM; -EIO */
int store_report_specs(struct store *store, int64_t run_id, json_t **ret);

/** Find the last run of the same test before a run that passed.
 * @return 0; -ENOENT there is none; -EIO */
int store_report_last_passed(struct store *store, int64_t run_id, int64_t *ret);

/** Count the SIP messages of a run. @return 0; -EIO */
int store_report_message_count(struct store *store, int64_t run_id,
			       int64_t *ret);

#endif
