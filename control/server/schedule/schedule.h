/**
 * Schedules: runs that start at their times. docs/reference/schedules.md has the rules.
 */
#ifndef OFFHOOK_SERVER_SCHEDULE_SCHEDULE_H
#define OFFHOOK_SERVER_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_REASON_BYTES 200

struct controller_conf;
struct store;

/* The times of a schedule: a cron expression in a time zone. */
struct schedule_times;

/**
 * @param cron      NULL: only the zone is checked
 * @param reason    filled on -EINVAL
 * @param ret_cron  true: the expression is wrong; false: the zone
 * @return 0; -EINVAL; -ENOMEM; -EIO
 */
int schedule_times_new(struct schedule_times **ret, const char *cron,
		       const char *zone,
		       char reason[static SCHEDULE_REASON_BYTES],
		       bool *ret_cron);
/** Accepts NULL. @return NULL */
struct schedule_times *schedule_times_free(struct schedule_times *t);

/** Find the next time after an instant, both ms since 1970. @return 0: there is
 * none */
int64_t schedule_times_next(const struct schedule_times *t, int64_t after);

/**
 * Start runs that are due, and those that waited for the run before.
 * Thread: the owner of the store.
 * @param now  ms since 1970
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
int schedule_follow(struct store *store, const struct controller_conf *conf,
		    int64_t now);

#endif
