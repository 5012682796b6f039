/**
 * Schedules: which are due, and the result of each time. Every change is one
 * transaction with a compare-and-set. Times are ms since 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_SCHEDULE_H
#define OFFHOOK_SERVER_STORE_STORE_SCHEDULE_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct db;
struct store;

/* Events kept per schedule; older ones are deleted when their run is over. */
#define SCHEDULE_EVENTS_MAX 100

/* A schedule that is due. */
struct schedule_turn {
	int64_t id;
	int64_t due_at;
	bool waited;     /* it has waited for the previous run */
	bool is_waiting; /* an earlier time is still waiting */
	int64_t next_at; /* set by the caller; 0: there is none */
	char name[256];
	int64_t test_id;    /* 0: it is a project */
	int64_t project_id; /* 0: it is a test */
	char project_name[256];
	json_t *test_ids; /* of the project; null: all. Owned */
	json_t *tags;
	char cron[256]; /* "": once */
	char timezone[64];
	char overlap[16];
	char missed[16];
	char report_mode[16];
};

void schedule_turn_release(struct schedule_turn *turn);

/** Find the next schedule that is due. @return 1; 0 none; -EIO; -ENOMEM */
int store_schedule_due(struct store *s, int64_t now, struct schedule_turn *ret);

/** Find the next schedule, with an id above `after`, that waits for its
 * previous run.
 * @return 1; 0 none; -EIO; -ENOMEM */
int store_schedule_waiting(struct store *s, int64_t after,
			   struct schedule_turn *ret);

/**
 * Find a run or project run of the schedule that is not over, including further
 * attempts.
 * @param ret  its UUID
 * @return 1; 0 none; -EIO
 */
int store_schedule_busy(struct store *s, int64_t id,
			char ret[static UUID_TEXT_BYTES]);

/**
 * Record a time at which no run starts, with the reason.
 * @param outcome  "skipped"; "waiting": starts when the previous run is over;
 *                 "missed"; "refused"
 * @return 0; -EALREADY the turn was taken, or the schedule changed; -EIO
 */
int store_schedule_pass(struct store *s, const struct schedule_turn *turn,
			const char *outcome, const char *detail, int64_t now);

/**
 * Record a time within the transaction that inserts its run.
 * @param session_id        of the run, or NULL
 * @param project_run_uuid  of the project run, or NULL
 * @return 0; -EALREADY; -EIO
 */
int schedule_take(struct db *db, const struct schedule_turn *turn,
		  const char *session_id, const char *project_run_uuid,
		  int64_t now);

/** Read the latest events, newest first: new array. @return 0; -EIO; -ENOMEM */
int store_schedule_history(struct store *s, int64_t id, unsigned count,
			   json_t **ret);

#endif
