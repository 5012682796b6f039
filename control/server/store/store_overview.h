/**
 * What the overview shows beside the states of tests: trends, runs in progress,
 * schedules, changes.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_OVERVIEW_H
#define OFFHOOK_SERVER_STORE_STORE_OVERVIEW_H

#include <jansson.h>
#include <stdint.h>

struct store;

/* Days of a trend, today included. */
#define TREND_DAYS 14

/**
 * Read how runs went, day by day (UTC), oldest first. A day is that of the
 * run's end. Every day is there, also one without runs.
 * @param now_ms  wall clock
 * @param test_id runs of this test alone; 0: all runs
 * @param ret     new array of {day, runs, passed, failed, errored, stopped,
 *                pass_rate, mos, pdd_ms, register_ms}: of the means of the
 *                day's runs the 5th percentile (mos) and the 95th; null where
 *                nothing was measured
 * @return 0; -EIO; -EBUSY; -ENOMEM
 */
int store_trend(struct store *s, int64_t now_ms, int64_t test_id, json_t **ret);

/** Read runs that are not over, oldest first. @param ret  new array of {id,
 * session_id, test_id, test_name, project_name, phase, progress, created_at,
 * started_at}, at most max @param total  without max @return 0; -EIO; -ENOMEM */
int store_running(struct store *s, int64_t max, json_t **ret, int64_t *total);

/** Read schedules by their next time. @param ret  new array of {id, name,
 * test_id, project_id, next_at}, at most max @return 0; -EIO; -ENOMEM */
int store_next_starts(struct store *s, int64_t max, json_t **ret);

/** Read the records that were changed last. @param ret  new array of {kind,
 * id, name, created, at}, at most max, the latest first; `kind` as in the path
 * of the API @return 0; -EIO; -ENOMEM */
int store_recent_changes(struct store *s, int64_t max, json_t **ret);

#endif
