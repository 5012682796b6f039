#include "control/server/run/run.h"

#include "base/log.h"
#include "control/server/judge/judge.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/judge_input.h"
#include "control/server/run/case_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ended_early(const struct run_case *c)
{
	return strcmp(c->stop_reason, "enough") == 0;
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
	if (!err && ended_early(c))
		judge_input_ended_early(in);
	if (!err)
		err = case_input_read(store, c, conditions, in);
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
		 err == -EMSGSIZE  ? "it has too many records"
		 : err == -EBADMSG ? "what is stored of it is damaged"
				   : strerror(-err));
	log_error("run=%s %s", c->session_id, text);
	return store_run_done(store, c->id, "errored", text, NULL, now);
}

/* Shards that are named; more are counted. */
#define LOST_NAMED 4

/* Append what the run went on without to its description. @return 0; -ENOMEM */
static int add_lost(char **text, const struct run_case *c)
{
	const size_t count = json_array_size(c->lost);
	const json_t *lost;
	size_t i;

	json_array_foreach(c->lost, i, lost)
	{
		char *longer;
		int len;

		if (i == LOST_NAMED)
			break;
		len = asprintf(
			&longer, "%s%sthe run went on without %s", *text,
			(*text)[0] ? "; " : "",
			json_string_value(json_object_get(lost, "reason")));
		if (len < 0)
			return -ENOMEM;
		free(*text);
		*text = longer;
	}
	if (count > LOST_NAMED) {
		char *longer;

		if (asprintf(&longer, "%s, and without %zu more shards", *text,
			     count - LOST_NAMED) < 0)
			return -ENOMEM;
		free(*text);
		*text = longer;
	}
	return 0;
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

/* The description of a run that ended early says so, whatever its verdict. */
static int done_early(struct store *store, const struct run_case *c,
		      struct judge_result *r, int64_t now)
{
	char *text = NULL;

	if (asprintf(&text, "%s%s%s", r->description,
		     r->description[0] ? "; " : "", c->description) < 0)
		return -ENOMEM;
	free(r->description);
	r->description = text;
	return done_judged(store, c, r, now);
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

/* The sentence that the run ends with. */
static char **sentence(struct run_case *c, struct judge_result *r)
{
	return c->stop_reason[0] && !ended_early(c) && !r->flaws
		       ? &c->description
		       : &r->description;
}

static int end_case(struct store *store, struct run_case *c, int64_t now)
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
	if (!err)
		err = add_lost(sentence(c, &result), c);
	if (err == -EIO || err == -ENOMEM || err == -EBUSY ||
	    err == -ENOTCONN || err == -ENOSPC)
		goto out; /* tried again later */
	if (err) {
		err = unjudged(store, c, err, now);
		goto out;
	}
	if (ended_early(c))
		err = done_early(store, c, &result, now);
	else if (c->stop_reason[0])
		err = done_failed(store, c, &result, now);
	else
		err = done_judged(store, c, &result, now);
out:
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
