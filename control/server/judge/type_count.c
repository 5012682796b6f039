/* {role}-call-count-conditions and {role}-register-time-conditions */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <string.h>

#define TIME_MS_MAX 3600000 /* one hour */

enum {
	ATTEMPTED,
	ESTABLISHED,
	FAILED,
	ASR,
	DROPPED
};

static const char *const counts[] = {"attempted", "established", "failed",
				     "asr",       "dropped",     NULL};
static const char *const nouns[] = {"calls attempted", "calls established",
				    "calls failed", "answer-seizure ratio",
				    "calls dropped"};

static struct condition_range count_range(unsigned choice)
{
	return choice == ASR ? (struct condition_range){" %", 0, 100}
			     : (struct condition_range){"", 0, 1e9};
}

static int parse_count(struct condition *c, struct judge_problem *problem)
{
	int err = condition_choice(&c->choice, c, "count", counts, problem);

	if (err)
		return err;
	return limit_parse(&c->limit, c->item, 0, count_range(c->choice).max,
			   problem);
}

static int judge_count(const struct judge_input *in, const struct condition *c,
		       json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	const char *unit = c->choice == ASR ? " %" : "";
	double attempted = 0, established = 0, failed = 0, value = 0;
	char text[160], expected[LIMIT_TEXT_BYTES];
	char actual[NUMBER_TEXT_BYTES] = "", sentence[JUDGE_REASON_BYTES];
	struct verdict v = {.role = c->set->role,
			    .condition_type = c->set->name,
			    .text = text,
			    .expected = expected,
			    .actual = actual,
			    .sentence = sentence};

	for (size_t i = 0; i < in->calls.count; i++) {
		if (strcmp(calls[i].role, c->set->role) != 0)
			continue;
		attempted++;
		established += calls[i].established;
		failed += call_failed(&calls[i]);
	}
	limit_text(expected, &c->limit, unit);
	str_print(text, sizeof(text), "%s: %s %s", c->set->role,
		  nouns[c->choice], expected);
	if (c->choice == ASR && attempted == 0) {
		str_print(sentence, sizeof(sentence),
			  "%s: there was no call, so there is no "
			  "answer-seizure ratio, expected %s",
			  c->set->role, expected);
		return verdict_add(verdicts, &v);
	}
	value = c->choice == ATTEMPTED     ? attempted
		: c->choice == ESTABLISHED ? established
		: c->choice == FAILED      ? failed
		: c->choice == DROPPED     ? failed - (attempted - established)
					   : 100 * established / attempted;
	v.passed = limit_holds(&c->limit, value);
	number_text(actual, value, unit);
	str_print(sentence, sizeof(sentence), "%s: %s: %s, expected %s",
		  c->set->role, nouns[c->choice], actual, expected);
	return verdict_add(verdicts, &v);
}

static int parse_time(struct condition *c, struct judge_problem *problem)
{
	return limit_parse(&c->limit, c->item, 0, TIME_MS_MAX, problem);
}

static void judge_account(struct tally *t, const struct condition *c,
			  const struct account_record *account,
			  const char *expected)
{
	char actual[NUMBER_TEXT_BYTES];

	if (!account->has_ms) {
		t->subjects++;
		tally_miss(t, NULL, "none",
			   "account %.60s was never registered (%d %.60s), so "
			   "there is no time, expected %s",
			   account->name, account->code, account->reason,
			   expected);
		return;
	}
	if (tally_figure(t, &c->limit, account->worst_ms))
		return;
	number_text(actual, account->worst_ms, " ms");
	tally_miss(t, NULL, actual,
		   "registering account %.60s took %s, expected %s",
		   account->name, actual, expected);
}

static int judge_time(const struct judge_input *in, const struct condition *c,
		      json_t *verdicts)
{
	const struct account_record *accounts =
		RECORDS(in, accounts, account_record);
	char text[160], expected[LIMIT_TEXT_BYTES];
	struct tally t = {0};

	limit_text(expected, &c->limit, " ms");
	str_print(text, sizeof(text), "%s: registering every account takes %s",
		  c->set->role, expected);
	for (size_t i = 0; i < in->accounts.count; i++)
		if (strcmp(accounts[i].role, c->set->role) == 0)
			judge_account(&t, c, &accounts[i], expected);
	return tally_verdict(&t, c, text, expected, " ms",
			     "there was no account to register", verdicts);
}

/* clang-format off */
static const struct condition_field count_fields[] = {
	{.name = "count", .word = "Count", .choices = counts},
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = count_range, .range_by = "count"},
	{.name = NULL},
};
/* clang-format on */

static struct condition_range time_range(unsigned choice)
{
	(void)choice;
	return (struct condition_range){" ms", 0, TIME_MS_MAX};
}

/* clang-format off */
static const struct condition_field time_fields[] = {
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = time_range},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_call_count = {
	.suffix = "call-count-conditions",
	.word = "Number of calls",
	.scope = "all calls of the role",
	.help = "the count over all calls of the role. failed: not established, or dropped; dropped: established, but ended otherwise than the test asked",
	.fields = count_fields,
	.options = (const char *const[]){NULL},
	.parse = parse_count,
	.judge = judge_count,
};

const struct condition_type condition_register_time = {
	.suffix = "register-time-conditions",
	.word = "Time of registration",
	.scope = "every account",
	.help = "the slowest registration of every account",
	.fields = time_fields,
	.options = (const char *const[]){NULL},
	.parse = parse_time,
	.judge = judge_time,
};

static int parse(struct condition *c, struct judge_problem *problem)
{
	return limit_parse(&c->limit, c->item, 0, TIME_MS_MAX, problem);
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
	.word = "Post-dial delay",
	.scope = "every call",
	.help = "the post-dial delay of every placed call. It fails for a call without a delay, and if there is no call",
	.fields = time_fields,
	.options = (const char *const[]){NULL},
	.parse = parse,
	.judge = judge,
};
