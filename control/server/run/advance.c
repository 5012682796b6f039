#include "control/server/run/run.h"

#include "base/log.h"
#include "control/server/judge/judge.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/judge_input.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
			err = store_run_event_texts(store, ids[i], "call",
						    EARLIER_CALLS_MAX,
						    add_earlier_call, in);
	}
	return err;
}

static int collect(struct store *store, const struct run_case *c,
		   const struct judge_conditions *conditions,
		   struct judge_input *in)
{
	unsigned earlier = judge_conditions_need_earlier(conditions);
	json_t *spec;
	size_t i;
	int err = 0;

	json_array_foreach(c->specs, i, spec)
	{
		err = judge_input_add_spec(in, spec);
		if (err)
			return err;
	}
	err = store_run_events(store, c->id, add_event, in);
	if (!err && earlier)
		err = collect_earlier(store, c->id, earlier, in);
	if (!err && judge_conditions_need_messages(conditions))
		err = store_run_messages(store, c->id, INGEST_ALL, add_message,
					 in);
	if (!err && judge_conditions_need_points(conditions))
		err = store_run_points(store, c->id, add_point, in);
	return err;
}

static int judge_case(struct store *store, const struct run_case *c,
		      struct judge_result *ret)
{
	struct judge_conditions *conditions = NULL;
	struct judge_problem problem;
	struct judge_input *in = NULL;
	int err;

	err = judge_conditions_new(&conditions, c->conditions, &problem);
	if (!err)
		err = judge_input_new(&in);
	if (!err)
		err = collect(store, c, conditions, in);
	if (!err)
		err = judge_run(ret, in, conditions);
	judge_input_free(in);
	judge_conditions_free(conditions);
	return err;
}

/* A run with too many records to judge is errored, not failed: the target is
 * not to blame. */
static int unjudged(struct store *store, const struct run_case *c, int err,
		    int64_t now)
{
	char text[160];

	snprintf(text, sizeof(text), "the run could not be judged: %s",
		 err == -EMSGSIZE ? "it has too many records" : strerror(-err));
	log_error("run=%s %s", c->session_id, text);
	return store_run_done(store, c->id, "errored", text, NULL, now);
}

static int done_judged(struct store *store, const struct run_case *c,
		       const struct judge_result *r, int64_t now)
{
	static const char *const words[] = {
		[JUDGE_PASSED] = "passed",
		[JUDGE_FAILED] = "failed",
		[JUDGE_ERRORED] = "errored",
	};

	return store_run_done(store, c->id, words[r->status], r->description,
			      r->verdicts, now);
}

/* The agent gave the reason for which the system under test ended the run; the
 * judge adds its verdicts. Faults of the tester itself take precedence. */
static int done_failed(struct store *store, const struct run_case *c,
		       const struct judge_result *r, int64_t now)
{
	if (r->flaws)
		return done_judged(store, c, r, now);
	return store_run_done(store, c->id, "failed", c->description,
			      r->verdicts, now);
}

static int end_case(struct store *store, const struct run_case *c, int64_t now)
{
	struct judge_result result = {.verdicts = NULL};
	int err;

	if (strcmp(c->stop_reason, "user") == 0)
		return store_run_done(store, c->id, "stopped", c->description,
				      NULL, now);
	if (strcmp(c->stop_reason, "error") == 0)
		return store_run_done(store, c->id, "errored", c->description,
				      NULL, now);
	err = judge_case(store, c, &result);
	if (err == -EIO || err == -ENOMEM || err == -EBUSY || err == -ENOTCONN)
		return err; /* tried again later */
	if (err)
		return unjudged(store, c, err, now);
	if (c->stop_reason[0])
		err = done_failed(store, c, &result, now);
	else
		err = done_judged(store, c, &result, now);
	judge_result_release(&result);
	return err;
}

int run_advance(struct store *store, const struct sweep_times *times)
{
	struct run_case c;
	bool changed;
	int err;

	err = store_sweep(store, times, &changed);
	if (err)
		return err;
	while ((err = store_run_to_judge(store, &c)) > 0) {
		err = end_case(store, &c, times->now);
		if (err >= 0)
			log_info("run=%s ended", c.session_id);
		run_case_release(&c);
		if (err < 0)
			break;
		changed = true;
	}
	return err < 0 ? err : changed;
}
