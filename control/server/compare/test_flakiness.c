#include "control/server/compare/test_flakiness.h"

#include "control/server/flakiness/flaky_cause.h"
#include "control/server/flakiness/flaky_history.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_verdict.h"
#include "control/wire/text.h"

#include <errno.h>

_Static_assert(FLAKY_RUNS_MAX == VERDICT_RUNS,
	       "a history holds the runs that make a test flaky");

/* Records of one run that are read, the first ones: they tell peers and codecs
 * of tests but of loads with more peers than can be told apart. */
#define MESSAGES_MAX 1000
#define CALLS_MAX    1000

static int add_message(const char *role, json_t *message, void *arg)
{
	return flaky_history_add_message(arg, role, message);
}

static int add_call(const char *role, struct json_text object, void *arg)
{
	json_t *event = json_loadb(object.at, object.len, 0, NULL);
	int err = event ? flaky_history_add_call(arg, role, event) : 0;

	json_decref(event);
	return err;
}

static int add_agents(struct store *store, int64_t run_id,
		      struct flaky_history *h)
{
	json_t *agents, *agent;
	size_t i;
	int err = store_report_agents(store, run_id, &agents);

	if (err)
		return err;
	json_array_foreach(agents, i, agent)
	{
		if (!err)
			err = flaky_history_add(h, FLAKY_AGENT,
						text_of(agent, "role"),
						text_of(agent, "name"));
	}
	json_decref(agents);
	return err;
}

static int add_run(struct store *store, const struct verdict_judged *run,
		   struct flaky_history *h)
{
	int err = flaky_history_add_run(h, run->failed, run->started_at);

	if (!err)
		err = add_agents(store, run->run_id, h);
	if (!err)
		err = store_run_messages(store, run->run_id, MESSAGES_MAX,
					 add_message, h);
	if (!err)
		err = store_run_event_texts(store, run->run_id, "call",
					    CALLS_MAX, add_call, h);
	return err;
}

static int cause_of(struct store *store, const struct verdict_history *runs,
		    json_t **ret)
{
	struct flaky_history *h;
	int err = flaky_history_new(&h);

	if (err)
		return err;
	for (size_t i = 0; !err && i < runs->count; i++)
		err = add_run(store, &runs->runs[i], h);
	if (!err)
		err = flaky_cause(h, ret);
	flaky_history_free(h);
	return err;
}

int test_flakiness(struct store *store, int64_t test_id, json_t **ret)
{
	struct verdict_history runs;
	json_t *cause = NULL, *found = NULL;
	int failed = 0;
	bool flaky;
	int err = store_verdict_history(store, test_id, &runs);

	if (err)
		return err;
	flaky = runs.changes >= VERDICT_CHANGES;
	if (flaky)
		err = cause_of(store, &runs, &cause);
	if (err)
		return err;
	for (size_t i = 0; i < runs.count; i++)
		failed += runs.runs[i].failed;
	found = json_pack("{s:b, s:i, s:i, s:i, s:O?, s:o}", "flaky", flaky,
			  "changes", (int)runs.changes, "failed", failed,
			  "passed", (int)runs.count - failed, "sentence",
			  json_object_get(cause, "sentence"), "common",
			  cause ? json_incref(json_object_get(cause, "common"))
				: json_array());
	json_decref(cause);
	if (!found)
		return -ENOMEM;
	*ret = found;
	return 0;
}
