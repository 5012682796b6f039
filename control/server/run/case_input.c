#include "control/server/run/case_input.h"

#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/judge_input.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_verdict.h"
#include "control/wire/text.h"

#include <errno.h>

static int add_event(const char *role, json_t *event, void *arg)
{
	int err = judge_input_add_event(arg, role, event);

	return err == -EINVAL ? 0 : err; /* uploads were checked; old rows */
}

static int add_message(const char *role, json_t *message, void *arg)
{
	int err = judge_input_add_message(arg, role, message);

	return err == -EINVAL ? 0 : err;
}

static int add_point(const struct wire_point *p, void *arg)
{
	const struct judge_point point = {.role = p->role,
					  .outgoing = p->outgoing,
					  .measure = p->measure,
					  .d = p->d,
					  .sketch = p->sketch};

	return judge_input_add_point(arg, &point);
}

static int add_earlier_call(const char *role, struct json_text text, void *arg)
{
	json_t *event = json_loadb(text.at, text.len, 0, NULL);
	int err = event ? judge_input_add_earlier(arg, role, event) : 0;

	json_decref(event);
	return err;
}

/* Calls that are read of an earlier run: more would not say more of it. */
#define EARLIER_CALLS_MAX 100000

/* The calls of the last runs that had passed when this one was started. */
static int collect_earlier(struct store *store, int64_t run_id, unsigned runs,
			   struct judge_input *in)
{
	int64_t ids[JUDGE_EARLIER_MAX];
	int count = store_verdict_passed_before(store, run_id, runs, ids);
	int err = count < 0 ? count : 0;

	for (int i = 0; !err && i < count; i++) {
		err = judge_input_next_earlier(in);
		if (!err)
			err = store_judged_event_texts(store, ids[i], "call",
						       EARLIER_CALLS_MAX,
						       add_earlier_call, in);
	}
	return err;
}

static int add_specs(const struct run_case *c, struct judge_input *in)
{
	json_t *spec, *lost;
	size_t i;
	int err = 0;

	json_array_foreach(c->specs, i, spec)
	{
		err = judge_input_add_spec(in, spec);
		if (err)
			return err;
	}
	json_array_foreach(c->lost, i, lost)
	{
		err = judge_input_leave_out(
			in, text_of(lost, "role"),
			json_integer_value(json_object_get(lost, "shard")));
		if (err)
			return err;
	}
	return 0;
}

int case_input_read(struct store *store, const struct run_case *c,
		    const struct judge_conditions *conditions,
		    struct judge_input *in)
{
	unsigned earlier = judge_conditions_need_earlier(conditions);
	int err = add_specs(c, in);

	if (!err)
		err = store_judged_events(store, c->id, add_event, in);
	if (!err && earlier)
		err = collect_earlier(store, c->id, earlier, in);
	if (!err && judge_conditions_need_messages(conditions))
		err = store_judged_messages(store, c->id, add_message, in);
	if (!err && judge_conditions_need_points(conditions))
		err = store_judged_points(store, c->id, add_point, in);
	return err;
}

static int add_event_text(const char *role, struct json_text text, void *arg)
{
	json_t *event = json_loadb(text.at, text.len, 0, NULL);
	int err = event ? add_event(role, event, arg) : 0;

	json_decref(event);
	return err;
}

int case_input_peek(struct store *store, const struct run_case *c,
		    const struct judge_conditions *conditions,
		    struct judge_input *in)
{
	/* In this order: of a call that has ended its beginning is known, and one whose end comes
	 * in between counts as not ended. */
	static const char *const kinds[] = {"call", "state"};
	unsigned earlier = judge_conditions_need_earlier(conditions);
	int err = add_specs(c, in);

	for (size_t i = 0; !err && i < 2; i++)
		err = store_judged_event_texts(store, c->id, kinds[i],
					       INGEST_ALL, add_event_text, in);
	if (!err && earlier)
		err = collect_earlier(store, c->id, earlier, in);
	return err;
}
