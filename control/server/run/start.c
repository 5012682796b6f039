#include "control/server/run/start.h"

#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/run/override.h"
#include "control/server/run/plan.h"
#include "control/server/run/plan_pool.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_appimage.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_waiting.h"
#include "control/wire/share.h"

#include <errno.h>
#include <string.h>

static int find_credentials(void *arg, int64_t pool_id, json_t **ret)
{
	return store_pool_load(arg, pool_id, ret);
}

static int find_target(void *arg, int64_t target_id, json_t **ret)
{
	return store_target_load(arg, target_id, ret);
}

static int find_prompt(void *arg, const char *name, char sha256[static 65])
{
	return store_prompt_find(arg, name, sha256);
}

static int find_file(void *arg, const char *name, char sha256[static 65])
{
	return store_file_find(arg, name, sha256);
}

/* The job of a shard: that of the role, and which part of it. */
static int add_shard(struct run_role *ret, const struct plan_role *role,
		     uint32_t shard)
{
	const struct wire_share share = {.index = shard, .of = role->shards};
	json_t *spec = json_copy(role->spec);

	*ret = (struct run_role){
		.role = role->role,
		.shard = shard,
		.shards = role->shards,
		.agents_min = role->agents_min,
		.allow_reduced = role->allow_reduced,
		.spec = spec,
	};
	if (!spec ||
	    (wire_share_divided(&share) &&
	     json_object_set_new(spec, "share", wire_share_encode(&share))))
		return -ENOMEM;
	ret->public_spec = plan_spec_public(spec);
	return ret->public_spec ? 0 : -ENOMEM;
}

static int create(struct store *store, struct run_new *run,
		  const struct plan *plan, const char *warning, int64_t *ret_id)
{
	struct run_role roles[PLAN_JOBS_MAX];
	size_t count = 0;
	int err = 0;

	run->warning = warning;
	for (size_t i = 0; i < plan->role_count && !err; i++) {
		const struct plan_role *role = &plan->roles[i];

		for (uint32_t k = 0; k < role->shards && !err; k++)
			err = add_shard(&roles[count++], role, k);
	}
	run->roles = roles;
	run->role_count = count;
	if (!err)
		err = store_run_create(store, run, ret_id);
	for (size_t i = 0; i < count; i++) {
		json_decref(roles[i].spec);
		json_decref(roles[i].public_spec);
	}
	run->roles = NULL; /* local to this function */
	run->role_count = 0;
	return err;
}

/* @return 0; -EINVAL it is refused, errors has the reason; -EIO; -ENOMEM */
static int calibrations_check(struct store *store, const char *rule,
			      const struct run_new *run,
			      const struct plan *plan, json_t *errors,
			      char warning[static CALIBRATED_TEXT_BYTES])
{
	int err;

	if (strcmp(rule, "allow") == 0)
		return 0;
	err = calibrated_check(
		store,
		json_integer_value(json_object_get(run->test, "agentpool_id")),
		plan, warning);
	if (err || !warning[0] || strcmp(rule, "refuse") != 0)
		return err;
	plan_error(errors, "/steps", "%s (beyond_calibration = refuse)",
		   warning);
	return -EINVAL;
}

/* plan_release() in any case. @return 0 (see errors); as plan_make() */
static int plan_run(struct store *store, const struct run_new *run,
		    struct plan *plan, json_t *errors)
{
	const struct plan_source source = {
		.credentials = find_credentials,
		.target = find_target,
		.prompt = find_prompt,
		.file = find_file,
		.arg = store,
	};
	const struct plan_params params = {
		.session_id = run->session_id,
		.attempt = run->attempt,
		.interval_s = run->interval_s,
		.max_duration_s = run->max_duration_s,
		.record =
			json_string_value(json_object_get(run->test, "record")),
		.steps = json_object_get(run->test, "steps"),
		.conditions = run->conditions,
	};

	return plan_make(plan, &params, &source, errors);
}

static int plan_and_create(struct store *store, const char *rule,
			   struct run_new *run, json_t *errors,
			   struct run_started *ret)
{
	struct plan plan = {.role_count = 0};
	int err = plan_run(store, run, &plan, errors);

	if (!err && json_array_size(errors))
		err = -EINVAL;
	if (!err)
		err = calibrations_check(store, rule, run, &plan, errors,
					 ret->warning);
	if (!err)
		err = create(store, run, &plan, ret->warning, &ret->id);
	plan_release(&plan);
	return err;
}

int run_start(struct store *store, const struct controller_conf *conf,
	      const struct run_start *start, json_t *errors,
	      struct run_started *ret)
{
	struct run_started started = {.id = 0};
	struct run_new run = {
		.session_id = started.session_id,
		.test = start->test,
		.conditions = json_object_get(start->test, "conditions"),
		.report_mode = start->report_mode,
		.interval_s = conf->interval_s,
		.max_duration_s = conf->max_duration_s,
		.created_at = lease_clock_ms(),
		.retries_left = start->retries_left,
		.attempt = 1,
		.limits = start->limits,
	};
	int err;

	uuid_make(started.session_id);
	if (strcmp(start->report_mode, "kiosk") == 0) {
		uuid_make(started.kiosk_id);
		run.kiosk_id = started.kiosk_id;
	}
	if (start->retry) {
		run.attempt = start->retry->attempt;
		run.retry_of = start->retry->session_id;
		run.retry_of_id = start->retry->run_id;
		run.project_run_id = start->retry->project_run_id;
		run.project_position = start->retry->project_position;
	} else if (start->capacity) {
		run.capacity = start->capacity;
	} else if (start->schedule) {
		run.schedule = start->schedule;
	} else if (start->project) {
		run.project_run_id = start->project->project_run_id;
		run.project_position = start->project->position;
	}
	err = plan_and_create(store, conf->beyond_calibration, &run, errors,
			      &started);
	if (err)
		return err;
	if (started.warning[0])
		log_info("run=%s: %s", started.session_id, started.warning);
	log_info("run=%s of test %s is queued, attempt %u", started.session_id,
		 json_string_value(json_object_get(start->test, "name")),
		 run.attempt);
	*ret = started;
	return 0;
}

int run_check(struct store *store, const struct controller_conf *conf,
	      json_t *test, json_t *errors)
{
	const struct run_new run = {
		.session_id = "00000000-0000-4000-8000-000000000000",
		.test = test,
		.conditions = json_object_get(test, "conditions"),
		.interval_s = conf->interval_s,
		.max_duration_s = conf->max_duration_s,
		.attempt = 1,
	};
	struct plan plan = {.role_count = 0};
	int err = plan_run(store, &run, &plan, errors);

	plan_release(&plan);
	return err;
}

struct run_limits run_start_limits(const struct controller_conf *conf,
				   int64_t key_id)
{
	return (struct run_limits){
		.key_id = key_id,
		.limit = {
			[RUN_LIMIT_KEY_RUNS] = conf->key_runs_limit,
			[RUN_LIMIT_PROJECT_RUNS] = conf->project_runs_limit,
			[RUN_LIMIT_PROJECT_BYTES] =
				(int64_t)conf->project_bytes_limit,
		}};
}

int run_start_stored(struct store *store, const struct controller_conf *conf,
		     int64_t test_id, struct run_start *start, json_t *errors,
		     json_t **ret_test, struct run_started *ret)
{
	int err;

	*ret_test = NULL;
	err = store_test_load(store, test_id, NULL, ret_test);
	if (err)
		return err;
	start->test = *ret_test;
	start->retries_left = (unsigned)json_integer_value(
		json_object_get(*ret_test, "retries_on_failure"));
	return run_start(store, conf, start, errors, ret);
}

json_t *run_waiting_for(struct store *store, const struct controller_conf *conf,
			int64_t run_id)
{
	const struct waiting_times times = {
		.now = lease_clock_ms(),
		.lease_ms = INT64_C(1000) * conf->lease_s,
	};
	char text[WAITING_TEXT_BYTES];
	int waits = store_waiting_for(store, run_id, &times, text);

	if (waits < 0)
		log_warning("what run %lld waits for could not be read",
			    (long long)run_id);
	return waits > 0 ? json_string(text) : json_null();
}

bool run_is_refusal(int err)
{
	return err == -EINVAL || err == -EBADMSG || err == -ENOENT;
}

void run_refusal(char text[static RUN_REFUSAL_BYTES], int err,
		 const json_t *errors)
{
	const char *detail = json_string_value(
		json_object_get(json_array_get(errors, 0), "detail"));

	if (err == -EBADMSG)
		detail = "a stored password cannot be read: the key file is "
			 "another one than when it was written";
	else if (err == -ENOENT)
		detail = "it was deleted";
	(void)str_print(text, RUN_REFUSAL_BYTES, "the test was not started: %s",
			detail ? detail : "it cannot be planned");
}
