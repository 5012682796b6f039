#include "control/server/capacity/capacity.h"

#include "base/log.h"
#include "control/capacity/stored_search.h"
#include "control/server/capacity/capacity_internal.h"
#include "control/server/run/start.h"
#include "control/server/store/store.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_capacity.h"
#include "control/server/store/store_run.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

/* Searches handled in one pass; the next pass continues. */
#define TURNS_MAX 16

/* A run that tells nothing about the load, as the agent was lost, is started again; after so many
 * in a row the search ends. */
#define VOIDS_MAX 2

/* Between two tries to start a trial while a limit refuses it. */
#define LIMITED_MS 5000

#define TEXT_BYTES 800

/* @return as store_capacity_move(), but 0 if another controller was first */
static int move_on(struct store *store, const struct capacity_search *search,
		   const struct capacity_move *move, int64_t now)
{
	int err = store_capacity_move(store, search, move, now);

	if (!err && strcmp(move->status, "running") != 0)
		log_info("capacity_search=%s is %s%s%s", search->uuid,
			 move->status, move->description[0] ? ": " : "",
			 move->description);
	return err == -EALREADY ? 0 : err;
}

static int end(struct store *store, const struct capacity_search *search,
	       const char *status, const char *description, int64_t now)
{
	const struct capacity_move move = {.status = status,
					   .description = description};

	return move_on(store, search, &move, now);
}

/* ---- the end of a trial ---- */

/* What the run of the trial in progress says.
 * @param ret_run  new reference, from which move borrows; NULL: it was deleted
 * @return 0; -EIO; -ENOMEM */
static int judge(struct store *store, const struct capacity_search *search,
		 struct capacity_move *move, json_t **ret_run)
{
	struct trial_verdict v;
	int err = store_run_get(store, search->session_id, ret_run);

	move->outcome = "void";
	move->condition = "";
	move->sentence = "its run was deleted";
	if (err)
		return err == -ENOENT ? 0 : err;
	if (trial_judge(*ret_run, &v)) {
		move->sentence = text_of(*ret_run, "result_description");
		return 0;
	}
	move->outcome = trial_outcome_name(v.outcome);
	move->condition = v.condition;
	move->sentence = v.sentence;
	return 0;
}

/* Put the outcome where the search learns of it. @return 0; -ENOMEM */
static int note(const struct capacity_search *search,
		const struct capacity_move *move)
{
	json_t *trial = json_array_get(search->trials,
				       json_array_size(search->trials) - 1);
	int err = json_object_set_new(trial, "outcome",
				      json_string(move->outcome));

	err |= json_object_set_new(trial, "condition",
				   wire_text(move->condition));
	err |= json_object_set_new(trial, "sentence",
				   wire_text(move->sentence));
	return err ? -ENOMEM : 0;
}

/* How the search goes on. */
static void decide(const struct capacity_search *search,
		   const struct stored_search *s, const json_t *run,
		   struct capacity_move *move, char text[static TEXT_BYTES],
		   int64_t now)
{
	struct search_next next;

	move->status = "running";
	move->description = "";
	if (search->stop_requested) {
		move->status = "stopped";
	} else if (strcmp(text_of(run, "status"), "stopped") == 0) {
		move->status = "stopped";
		move->description = "the run of a trial was stopped";
	} else if (s->voids >= VOIDS_MAX) {
		str_print(text, TEXT_BYTES,
			  "a trial could not be carried out: %.700s",
			  move->sentence);
		move->status = "errored";
		move->description = text;
	} else if (search_next(s->log.search, &next)) {
		move->next_at =
			now + INT64_C(1000) * s->cool_down_s * next.pause;
	} else {
		move->status = "done";
	}
}

static int take_ended(struct store *store, const struct capacity_search *search,
		      int64_t now)
{
	struct capacity_move move = {.outcome = NULL};
	struct stored_search s = {.voids = 0};
	char text[TEXT_BYTES];
	json_t *run = NULL;
	int err = judge(store, search, &move, &run);

	if (!err)
		err = note(search, &move);
	if (!err)
		err = stored_search_load(&s, search->params, search->trials);
	if (!err) {
		decide(search, &s, run, &move, text, now);
		move.result = stored_search_result(&s);
		err = move.result ? move_on(store, search, &move, now)
				  : -ENOMEM;
	}
	json_decref(move.result);
	stored_search_release(&s);
	json_decref(run);
	return err;
}

/* ---- the next trial ---- */

/* The start is noted as a request for it would be, with the search as actor. */
static int start_noted(struct store *store, const struct controller_conf *conf,
		       const struct capacity_search *search,
		       const struct run_start *start, json_t *errors)
{
	char path[64] = "/tests/scenarios/capacity-search";
	struct audit audit = {.method = "POST",
			      .path = path,
			      .address = "",
			      .request_id = "",
			      .actor_kind = "capacity_search",
			      .actor = search->test_name,
			      .actor_id = search->id};
	struct run_started started;
	int err;

	if (search->test_id)
		str_print(path, sizeof(path), "/tests/%lld/run",
			  (long long)search->test_id);
	store_audit_of(store, &audit);
	err = run_start(store, conf, start, errors, &started);
	store_audit_of(store, NULL);
	if (!err)
		log_info("capacity_search=%s trial=%lld run=%s", search->uuid,
			 (long long)start->capacity->position + 1,
			 started.session_id);
	return err;
}

/* A limit of runs is waited for. */
static int limited(struct store *store, const struct capacity_search *search,
		   const struct run_limits *limits, int64_t now)
{
	char text[TEXT_BYTES];
	struct capacity_move move = {
		.status = "running",
		.description = "",
		.waiting_for = text,
		.next_at = now + LIMITED_MS,
	};

	if (limits->exceeded == RUN_LIMIT_PROJECT_BYTES)
		return end(store, search, "errored",
			   "its project stores as many bytes as it may "
			   "(project_bytes_limit)",
			   now);
	str_print(text, sizeof(text),
		  "%s has %lld of at most %lld runs in progress",
		  limits->exceeded == RUN_LIMIT_KEY_RUNS
			  ? "the key or user who started the search"
			  : "the project",
		  (long long)limits->present,
		  (long long)limits->limit[limits->exceeded]);
	return move_on(store, search, &move, now);
}

static int start(struct store *store, const struct controller_conf *conf,
		 const struct capacity_search *search,
		 const struct trial_plan *plan, double load, int64_t now)
{
	const struct capacity_turn turn = {
		.search_id = search->id,
		.due_at = search->due_at,
		.position = (int64_t)json_array_size(search->trials),
		.load = load,
	};
	struct run_limits limits = run_start_limits(conf, search->key_id);
	struct run_start run = {
		.report_mode = "full", .capacity = &turn, .limits = &limits};
	json_t *errors = json_array(), *test = NULL;
	char text[RUN_REFUSAL_BYTES];
	int err = capacity_trial_test(search->test, plan, load, errors, &test);

	run.test = test;
	if (!err && json_array_size(errors))
		err = -EINVAL;
	if (!err)
		err = start_noted(store, conf, search, &run, errors);
	if (err == -EDQUOT) {
		err = limited(store, search, &limits, now);
	} else if (run_is_refusal(err)) {
		run_refusal(text, err, errors);
		err = end(store, search, "errored", text, now);
	}
	json_decref(test);
	json_decref(errors);
	return err == -EALREADY ? 0 : err;
}

static int take_due(struct store *store, const struct controller_conf *conf,
		    const struct capacity_search *search, int64_t now)
{
	struct stored_search s;
	struct search_next next;
	int err = stored_search_load(&s, search->params, search->trials);

	if (!err && !search->test)
		err = end(store, search, "errored",
			  "its test cannot be read: the key file is another "
			  "one than when the search was started",
			  now);
	else if (!err && search_next(s.log.search, &next))
		err = start(store, conf, search, &s.plan, next.load, now);
	else if (!err)
		err = end(store, search, "done", "", now);
	stored_search_release(&s);
	return err;
}

int capacity_follow(struct store *store, const struct controller_conf *conf,
		    int64_t now)
{
	struct capacity_search search;
	int count = 0, err = 0;

	while (count < TURNS_MAX &&
	       (err = store_capacity_ended(store, &search)) > 0) {
		err = take_ended(store, &search, now);
		capacity_search_release(&search);
		if (err < 0)
			return err;
		count++;
	}
	while (err >= 0 && count < TURNS_MAX &&
	       (err = store_capacity_due(store, now, &search)) > 0) {
		err = take_due(store, conf, &search, now);
		capacity_search_release(&search);
		count++;
	}
	return err < 0 ? err : count > 0;
}
