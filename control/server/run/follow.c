#include "control/server/run/follow.h"

#include "base/log.h"
#include "control/server/run/start.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_run.h"

#include <errno.h>
#include <string.h>

/* Runs started in one pass; the next pass continues. */
#define TURNS_MAX 64

static int start_retry(struct store *store, const struct controller_conf *conf,
		       const struct retry_turn *turn)
{
	const struct run_start start = {
		.test = turn->test,
		.report_mode = turn->report_mode,
		.retries_left = turn->retries_left,
		.retry = turn,
	};
	json_t *errors = json_array();
	struct run_started started;
	char text[RUN_REFUSAL_BYTES];
	int err = -EBADMSG;

	if (turn->test)
		err = run_start(store, conf, &start, errors, &started);
	if (run_is_refusal(err)) {
		run_refusal(text, err, errors);
		log_warning("run=%s has no further attempt: %s",
			    turn->session_id, text);
		err = store_retry_refuse(store, turn->run_id);
	}
	json_decref(errors);
	return err == -EALREADY ? 0 : err;
}

static int start_turn(struct store *store, const struct controller_conf *conf,
		      const struct project_turn *turn)
{
	json_t *test, *errors = json_array();
	struct run_start start = {
		.report_mode = turn->report_mode,
		.project = turn,
	};
	struct run_started started;
	char text[RUN_REFUSAL_BYTES];
	int err = run_start_stored(store, conf, turn->test_id, &start, errors,
				   &test, &started);

	if (run_is_refusal(err)) {
		run_refusal(text, err, errors);
		err = store_project_turn_refuse(store, turn, test, text,
						lease_clock_ms());
	}
	json_decref(errors);
	json_decref(test);
	return err == -EALREADY ? 0 : err;
}

static int start_retries(struct store *store,
			 const struct controller_conf *conf)
{
	struct retry_turn turn;
	int count = 0, err = 0;

	while (count < TURNS_MAX &&
	       (err = store_retry_next(store, &turn)) > 0) {
		err = start_retry(store, conf, &turn);
		json_decref(turn.test);
		if (err < 0)
			return err;
		count++;
	}
	return err < 0 ? err : count > 0;
}

static int start_turns(struct store *store, const struct controller_conf *conf)
{
	struct project_turn turn;
	int count = 0, err = 0;

	while (count < TURNS_MAX &&
	       (err = store_project_turn_next(store, &turn)) > 0) {
		err = start_turn(store, conf, &turn);
		if (err < 0)
			return err;
		count++;
	}
	return err < 0 ? err : count > 0;
}

int run_follow(struct store *store, const struct controller_conf *conf)
{
	int moved = start_retries(store, conf), err;

	if (moved < 0)
		return moved;
	err = store_project_runs_advance(store, lease_clock_ms());
	moved |= err > 0;
	if (err >= 0)
		err = start_turns(store, conf);
	/* tests that could not be started may have been the last ones */
	if (err > 0) {
		moved = 1;
		err = store_project_runs_advance(store, lease_clock_ms());
	}
	return err < 0 ? err : moved;
}
