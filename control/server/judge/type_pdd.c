/* {role}-postdial-delay-conditions: INVITE to the first 18x, every call */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <string.h>

/* A call set-up that takes an hour is no call set-up. */
#define PDD_MS_MAX 3600000

static int parse(struct condition *c, struct judge_problem *problem)
{
	return limit_parse(&c->limit, c->item, 0, PDD_MS_MAX, problem);
}

static void judge_call(struct tally *t, const struct condition *c,
		       const struct call_record *call, const char *expected)
{
	char actual[NUMBER_TEXT_BYTES], why[CALL_END_BYTES];

	if (!call->has_pdd) {
		t->subjects++;
		call_end_text(why, sizeof(why), call);
		tally_miss(t, call->name, "none",
			   "call %.60s to %.60s has no post-dial delay: it "
			   "neither rang nor was answered (%.80s)",
			   call->name, call->peer, why);
		return;
	}
	if (tally_figure(t, &c->limit, call->pdd_ms))
		return;
	number_text(actual, call->pdd_ms, " ms");
	tally_miss(t, call->name, actual,
		   "post-dial delay of call %.60s to %.60s was %s, expected %s",
		   call->name, call->peer, actual, expected);
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	char text[160], expected[LIMIT_TEXT_BYTES];
	struct tally t = {0};

	limit_text(expected, &c->limit, " ms");
	str_print(text, sizeof(text), "%s: post-dial delay of every call %s",
		  c->set->role, expected);
	for (size_t i = 0; i < in->calls.count; i++)
		if (calls[i].outgoing &&
		    strcmp(calls[i].role, c->set->role) == 0)
			judge_call(&t, c, &calls[i], expected);
	return tally_verdict(&t, c, text, expected, " ms",
			     "no call was placed, so there is no post-dial "
			     "delay",
			     verdicts);
}

const struct condition_type condition_pdd = {
	.suffix = "postdial-delay-conditions",
	.fields = (const char *const[]){"type", "value", NULL},
	.options = (const char *const[]){NULL},
	.parse = parse,
	.judge = judge,
};
