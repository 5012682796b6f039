#include "control/server/compare/run_difference.h"

#include "base/str.h"
#include "control/server/difference/difference.h"
#include "control/server/difference/facts.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_run.h"
#include "control/wire/text.h"

#include <errno.h>

/* ---- the facts of a run ---- */

static int add_message(const char *role, json_t *message, void *arg)
{
	return difference_run_add_message(arg, role, message);
}

/* Kinds of events that have facts. */
static const char *const event_kinds[] = {"call", "register", "flaw"};

static int add_event(const char *role, struct json_text object, void *arg)
{
	json_t *event = json_loadb(object.at, object.len, 0, NULL);
	int err = event ? difference_run_add_event(arg, role, event) : 0;

	json_decref(event);
	return err;
}

static int add_agents(struct store *store, int64_t id,
		      struct difference_run *run)
{
	json_t *agents, *agent;
	size_t i;
	int err = store_report_agents(store, id, &agents);

	if (err)
		return err;
	json_array_foreach(agents, i, agent)
	{
		if (!err)
			err = difference_run_add_agent(run,
						       text_of(agent, "role"),
						       text_of(agent, "name"));
	}
	json_decref(agents);
	return err;
}

static int add_specs(struct store *store, int64_t id,
		     struct difference_run *run)
{
	json_t *specs, *spec;
	size_t i;
	int err = store_report_specs(store, id, &specs);

	if (err)
		return err;
	json_array_foreach(specs, i, spec)
	{
		if (!err)
			err = difference_run_add_spec(run, spec);
	}
	json_decref(specs);
	return err;
}

/* @param shown  of store_run_get() */
static int facts_of(struct store *store, const json_t *shown,
		    struct difference_run **ret)
{
	int64_t id = json_integer_value(json_object_get(shown, "id"));
	struct difference_run *run;
	int err = difference_run_new(&run);

	if (err)
		return err;
	difference_run_set_verdicts(run, json_object_get(shown, "verdicts"));
	err = add_specs(store, id, run);
	if (!err)
		err = add_agents(store, id, run);
	if (!err)
		err = store_run_messages_by_time(
			store, id, DIFFERENCE_MESSAGES_MAX, add_message, run);
	for (size_t i = 0;
	     !err && i < sizeof(event_kinds) / sizeof(*event_kinds); i++)
		err = store_run_event_texts(store, id, event_kinds[i],
					    DIFFERENCE_EVENTS_MAX, add_event,
					    run);
	if (err) {
		difference_run_free(run);
		return err;
	}
	*ret = run;
	return 0;
}

int run_difference(struct store *store, const json_t *before,
		   const json_t *after, json_t **ret)
{
	struct difference_run *a = NULL, *b = NULL;
	json_t *found = NULL;
	int err = facts_of(store, before, &a);

	if (!err)
		err = facts_of(store, after, &b);
	if (!err) {
		found = difference_of_runs(a, b);
		err = found ? 0 : -ENOMEM;
	}
	difference_run_free(a);
	difference_run_free(b);
	if (!err)
		*ret = found;
	return err;
}

/* ---- the run that it is compared with ---- */

int run_last_passed(struct store *store, const json_t *run, json_t **ret)
{
	char key[STR_DECIMAL_BYTES];
	int64_t id;
	int err = store_report_last_passed(
		store, json_integer_value(json_object_get(run, "id")), &id);

	return err ? err
		   : store_run_get(store, str_decimal(key, (uint64_t)id), ret);
}

int run_difference_last_passed(struct store *store, const json_t *run,
			       json_t **ret)
{
	json_t *passed;
	int err = run_last_passed(store, run, &passed);

	if (err)
		return err;
	err = run_difference(store, passed, run, ret);
	json_decref(passed);
	return err;
}
