#include "control/server/run/project.h"

#include "base/log.h"
#include "control/server/run/override.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_follow.h"

#include <errno.h>
#include <string.h>

#define POINTER_BYTES 40

static bool has(const json_t *array, json_t *wanted)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (json_equal(value, wanted))
			return true;
	}
	return false;
}

static bool any_tag(const json_t *test, const json_t *wanted)
{
	json_t *tag;
	size_t i;

	json_array_foreach(json_object_get(test, "tags"), i, tag)
	{
		if (has(wanted, tag))
			return true;
	}
	return false;
}

/* Refuse ids of tests that the project does not have: fewer tests would run
 * unnoticed. */
static void check_known(const json_t *tests, const json_t *ids, json_t *errors)
{
	json_t *id, *test;
	size_t i, k;

	json_array_foreach(ids, i, id)
	{
		char at[POINTER_BYTES];
		bool found = false;

		json_array_foreach(tests, k, test) found |=
			json_equal(json_object_get(test, "id"), id);
		str_print(at, sizeof(at), "/test_ids/%zu", i);
		if (!found)
			plan_error(errors, at, "%lld is no test of the project",
				   (long long)json_integer_value(id));
	}
}

/* Remove tests that are not selected from the array of {id, name, tags}. */
static void select_tests(json_t *tests, const struct project_start *start,
			 json_t *errors)
{
	bool by_id = json_is_array(start->test_ids);
	bool by_tag = json_is_array(start->tags);
	size_t i = 0;

	check_known(tests, start->test_ids, errors);
	while (i < json_array_size(tests)) {
		const json_t *test = json_array_get(tests, i);

		if ((by_id &&
		     !has(start->test_ids, json_object_get(test, "id"))) ||
		    (by_tag && !any_tag(test, start->tags)))
			json_array_remove(tests, i);
		else
			i++;
	}
	if (!json_array_size(errors) && !json_array_size(tests))
		plan_error(errors, by_tag ? "/tags" : "",
			   "the project has no test to run%s",
			   by_id || by_tag ? " that the filters select" : "");
}

static int create(struct store *store, const struct project_start *start,
		  json_t *tests, struct project_started *ret)
{
	struct project_started started = {.id = 0};
	struct project_run_new run = {
		.uuid = started.uuid,
		.report_mode = start->report_mode,
		.project_id = start->project_id,
		.project_name = start->project_name,
		.tests = tests,
		.callback = start->callback,
		.schedule = start->schedule,
		.created_at = lease_clock_ms(),
	};
	int err;

	uuid_make(started.uuid);
	if (strcmp(start->report_mode, "kiosk") == 0) {
		uuid_make(started.kiosk_id);
		run.kiosk_id = started.kiosk_id;
	}
	err = store_project_run_create(store, &run, &started.id);
	if (err)
		return err;
	log_info("project_run=%s of project %s: %zu tests", started.uuid,
		 start->project_name, json_array_size(tests));
	*ret = started;
	return 0;
}

int project_run_start(struct store *store, const struct project_start *start,
		      json_t *errors, struct project_started *ret)
{
	json_t *tests;
	int err = store_project_tests(store, start->project_id, &tests);

	if (err)
		return err;
	select_tests(tests, start, errors);
	err = json_array_size(errors) ? -EINVAL
				      : create(store, start, tests, ret);
	json_decref(tests);
	return err;
}
