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

/* Records of a run that are being read, up to a ceiling. */
struct reading {
	struct difference_run *run;
	int64_t left; /* that may be added; below 0: some were left out */
};

static int add_message(const char *role, json_t *message, void *arg)
{
	struct reading *r = arg;

	return --r->left < 0
		       ? 0
		       : difference_run_add_message(r->run, role, message);
}

/* Kinds of events that have facts. */
static const struct {
	const char *kind, *name;
} event_kinds[] = {{"call", "calls"},
		   {"register", "registrations"},
		   {"flaw", "flaws of the tester"}};

static int add_event(const char *role, struct json_text object, void *arg)
{
	struct reading *r = arg;
	json_t *event;
	int err;

	if (--r->left < 0)
		return 0;
	event = json_loadb(object.at, object.len, 0, NULL);
	err = event ? difference_run_add_event(r->run, role, event) : 0;
	json_decref(event);
	return err;
}

/* Tell that records were left out, if so. */
static int tell_left_out(json_t *not_compared, const struct reading *r,
			 const char *which, const char *records, int most)
{
	json_t *sentence;

	if (r->left >= 0)
		return 0;
	sentence = json_sprintf("Not compared: %s of the %s run after the "
				"first %d.",
				records, which, most);
	return json_array_append_new(not_compared, sentence) ? -ENOMEM : 0;
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

static int add_messages(struct store *store, int64_t id, const char *which,
			struct difference_run *run, json_t *not_compared)
{
	struct reading r = {.run = run, .left = DIFFERENCE_MESSAGES_MAX};
	int err = store_run_messages_by_time(
		store, id, DIFFERENCE_MESSAGES_MAX + 1, add_message, &r);

	return err ? err
		   : tell_left_out(not_compared, &r, which, "SIP messages",
				   DIFFERENCE_MESSAGES_MAX);
}

static int add_events(struct store *store, int64_t id, const char *which,
		      struct difference_run *run, json_t *not_compared)
{
	int err = 0;

	for (size_t i = 0;
	     !err && i < sizeof(event_kinds) / sizeof(*event_kinds); i++) {
		struct reading r = {.run = run, .left = DIFFERENCE_EVENTS_MAX};

		err = store_run_event_texts(store, id, event_kinds[i].kind,
					    DIFFERENCE_EVENTS_MAX + 1,
					    add_event, &r);
		if (!err)
			err = tell_left_out(not_compared, &r, which,
					    event_kinds[i].name,
					    DIFFERENCE_EVENTS_MAX);
	}
	return err;
}

/* @param shown         of store_run_get()
 * @param which         "earlier" or "later"
 * @param not_compared  gets a sentence for each kind of record that is above its ceiling */
static int facts_of(struct store *store, const json_t *shown, const char *which,
		    json_t *not_compared, struct difference_run **ret)
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
		err = add_messages(store, id, which, run, not_compared);
	if (!err)
		err = add_events(store, id, which, run, not_compared);
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
	json_t *found = NULL, *not_compared = json_array();
	int err = facts_of(store, before, "earlier", not_compared, &a);

	if (!err)
		err = facts_of(store, after, "later", not_compared, &b);
	if (!err) {
		found = difference_of_runs(a, b);
		err = found && !json_object_set(found, "not_compared",
						not_compared)
			      ? 0
			      : -ENOMEM;
	}
	json_decref(not_compared);
	difference_run_free(a);
	difference_run_free(b);
	if (err)
		json_decref(found);
	else
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
