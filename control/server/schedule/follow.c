#include "control/server/schedule/schedule.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/run/project.h"
#include "control/server/run/start.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_schedule.h"

#include <errno.h>
#include <string.h>

/* Schedules handled in one pass; the next pass continues. */
#define TURNS_MAX 64

/* A time that is noticed later than this counts as missed. */
#define LATE_MS 60000

#define COUNT_MAX    1000
#define DETAIL_BYTES 300

/* Try again after so long if a stored zone or expression can no longer be
 * parsed. */
#define AGAIN_MS 3600000

static int pass(struct store *store, const struct schedule_turn *turn,
		const char *outcome, const char *detail, int64_t now)
{
	int err;

	log_info("schedule=%lld %s: %s", (long long)turn->id, outcome, detail);
	err = store_schedule_pass(store, turn, outcome, detail, now);
	return err == -EALREADY ? 0 : err;
}

/* ---- starting ---- */

static int start_test(struct store *store, const struct controller_conf *conf,
		      const struct schedule_turn *turn, json_t *errors)
{
	struct run_start start = {.report_mode = turn->report_mode,
				  .schedule = turn};
	struct run_started started;
	json_t *test;
	int err = run_start_stored(store, conf, turn->test_id, &start, errors,
				   &test, &started);

	if (!err)
		log_info("schedule=%lld run=%s", (long long)turn->id,
			 started.session_id);
	json_decref(test);
	return err;
}

static int start_project(struct store *store, const struct schedule_turn *turn,
			 json_t *errors)
{
	const struct project_start start = {
		.project_id = turn->project_id,
		.project_name = turn->project_name,
		.report_mode = turn->report_mode,
		.test_ids = turn->test_ids,
		.tags = turn->tags,
		.schedule = turn,
	};
	struct project_started started;
	int err = project_run_start(store, &start, errors, &started);

	if (!err)
		log_info("schedule=%lld project_run=%s", (long long)turn->id,
			 started.uuid);
	return err;
}

/* The start is noted as a request for it would be, with the schedule as actor. */
static int start_noted(struct store *store, const struct controller_conf *conf,
		       const struct schedule_turn *turn, json_t *errors)
{
	char path[64];
	struct audit audit = {.method = "POST",
			      .path = path,
			      .address = "",
			      .request_id = "",
			      .actor_kind = "schedule",
			      .actor = turn->name,
			      .actor_id = turn->id};
	int err;

	str_print(
		path, sizeof(path), "/%s/%lld/run",
		turn->test_id ? "tests" : "projects",
		(long long)(turn->test_id ? turn->test_id : turn->project_id));
	store_audit_of(store, &audit);
	err = turn->test_id ? start_test(store, conf, turn, errors)
			    : start_project(store, turn, errors);
	store_audit_of(store, NULL);
	return err;
}

static int start(struct store *store, const struct controller_conf *conf,
		 const struct schedule_turn *turn, int64_t now)
{
	json_t *errors = json_array();
	char text[RUN_REFUSAL_BYTES];
	int err = start_noted(store, conf, turn, errors);

	if (run_is_refusal(err)) {
		run_refusal(text, err, errors);
		err = pass(store, turn, "refused", text, now);
	}
	json_decref(errors);
	return err == -EALREADY ? 0 : err;
}

/* ---- what is due ---- */

static int miss(struct store *store, const struct schedule_turn *turn,
		const struct schedule_times *times, int64_t now)
{
	char detail[DETAIL_BYTES], from[CLOCK_TEXT_BYTES];
	int64_t at = turn->due_at;
	unsigned count = 1;

	while (count < COUNT_MAX && (at = schedule_times_next(times, at)) > 0 &&
	       at <= now)
		count++;
	clock_format_ms(from, turn->due_at);
	str_print(detail, sizeof(detail),
		  "%s%u time%s since %s: no controller was running",
		  count == COUNT_MAX ? "more than " : "", count,
		  count == 1 ? "" : "s", from);
	return pass(store, turn, "missed", detail, now);
}

/* Handle a schedule whose previous run is in progress. */
static int overlap(struct store *store, const struct schedule_turn *turn,
		   const char *before, int64_t now)
{
	bool wait = strcmp(turn->overlap, "wait") == 0;
	char detail[DETAIL_BYTES];

	str_print(detail, sizeof(detail), "the run before, %s, is not over%s",
		  before,
		  wait && turn->is_waiting ? ", and one is waiting already"
					   : "");
	return pass(store, turn,
		    wait && !turn->is_waiting ? "waiting" : "skipped", detail,
		    now);
}

static int take_due(struct store *store, const struct controller_conf *conf,
		    struct schedule_turn *turn, int64_t now)
{
	char reason[SCHEDULE_REASON_BYTES], before[UUID_TEXT_BYTES];
	struct schedule_times *times = NULL;
	bool is_cron;
	int err = schedule_times_new(&times, turn->cron[0] ? turn->cron : NULL,
				     turn->timezone, reason, &is_cron);

	if (err == -EINVAL) {
		turn->next_at = now + AGAIN_MS;
		return pass(store, turn, "refused", reason, now);
	}
	if (err)
		return err;
	turn->next_at = schedule_times_next(times, now);
	if (now - turn->due_at > LATE_MS && strcmp(turn->missed, "skip") == 0)
		err = miss(store, turn, times, now);
	else if (strcmp(turn->overlap, "parallel") == 0)
		err = start(store, conf, turn, now);
	else if ((err = store_schedule_busy(store, turn->id, before)) > 0)
		err = overlap(store, turn, before, now);
	else if (!err)
		err = start(store, conf, turn, now);
	schedule_times_free(times);
	return err;
}

static int follow_due(struct store *store, const struct controller_conf *conf,
		      int64_t now)
{
	struct schedule_turn turn;
	int count = 0, err = 0;

	while (count < TURNS_MAX &&
	       (err = store_schedule_due(store, now, &turn)) > 0) {
		err = take_due(store, conf, &turn, now);
		schedule_turn_release(&turn);
		if (err < 0)
			return err;
		count++;
	}
	return err < 0 ? err : count > 0;
}

static int follow_waiting(struct store *store,
			  const struct controller_conf *conf, int64_t now)
{
	char before[UUID_TEXT_BYTES];
	struct schedule_turn turn = {.id = 0};
	int64_t after = 0;
	int moved = 0, err;

	while ((err = store_schedule_waiting(store, after, &turn)) > 0) {
		after = turn.id;
		err = store_schedule_busy(store, turn.id, before);
		if (err == 0) {
			err = start(store, conf, &turn, now);
			moved = 1;
		}
		schedule_turn_release(&turn);
		if (err < 0)
			break;
	}
	return err < 0 ? err : moved;
}

int schedule_follow(struct store *store, const struct controller_conf *conf,
		    int64_t now)
{
	int waited = follow_waiting(store, conf, now), due;

	if (waited < 0)
		return waited;
	due = follow_due(store, conf, now);
	return due < 0 ? due : waited | due;
}
