#include "control/server/judge/judge.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/judge/input.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- default conditions ---- */

static int add(json_t *verdicts, const struct role_record *role,
	       const char *text, const char *expected, const char *actual,
	       const char *call, const char *sentence)
{
	struct verdict v = {
		.role = role->role,
		.condition_type = "built-in",
		.text = text,
		.passed = sentence == NULL,
		.built_in = true,
		.expected = expected,
		.actual = actual,
		.call = call,
		.sentence = sentence,
	};

	return verdict_add(verdicts, &v);
}

struct call_counts {
	uint64_t placed;
	uint64_t placed_established;
	uint64_t taken;
	const struct call_record *first_failed;
	uint64_t ends; /* calls whose end is judged */
	uint64_t bad_ends;
	const struct call_record *first_bad_end;
};

/* Calls that were not established are judged by judge_established(). */
static void count_end(struct call_counts *n, const struct call_record *call)
{
	if (call->outgoing && !call->established)
		return;
	n->ends++;
	if (call->ended_as_asked)
		return;
	n->bad_ends++;
	if (!n->first_bad_end)
		n->first_bad_end = call;
}

static void count_calls(struct call_counts *n, const struct judge_input *in,
			const char *role)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);

	*n = (struct call_counts){0};
	for (size_t i = 0; i < in->calls.count; i++) {
		if (strcmp(calls[i].role, role) != 0)
			continue;
		count_end(n, &calls[i]);
		if (!calls[i].outgoing) {
			n->taken++;
			continue;
		}
		if (calls[i].serves_other)
			continue;
		n->placed++;
		if (calls[i].established)
			n->placed_established++;
		else if (!n->first_failed)
			n->first_failed = &calls[i];
	}
}

static int judge_placed(const struct role_record *role,
			const struct call_counts *n, json_t *verdicts)
{
	char text[160], expected[40], actual[40], sentence[JUDGE_REASON_BYTES];
	bool passed = n->placed == role->expected_calls;

	str_print(text, sizeof(text), "%s: all calls are placed", role->role);
	str_print(expected, sizeof(expected), "%" PRIu64, role->expected_calls);
	str_print(actual, sizeof(actual), "%" PRIu64, n->placed);
	str_print(sentence, sizeof(sentence),
		  "%s: %" PRIu64 " of %" PRIu64 " calls were placed",
		  role->role, n->placed, role->expected_calls);
	return add(verdicts, role, text, expected, actual, NULL,
		   passed ? NULL : sentence);
}

static int judge_established(const struct role_record *role,
			     const struct call_counts *n, json_t *verdicts)
{
	char text[160], expected[40], actual[40];
	char sentence[2 * JUDGE_REASON_BYTES], why[CALL_END_BYTES];
	const struct call_record *failed = n->first_failed;
	int used;

	str_print(text, sizeof(text), "%s: every call placed is established",
		  role->role);
	str_print(expected, sizeof(expected), "%" PRIu64, n->placed);
	str_print(actual, sizeof(actual), "%" PRIu64, n->placed_established);
	if (!failed)
		return add(verdicts, role, text, expected, actual, NULL, NULL);
	call_end_text(why, sizeof(why), failed);
	used = str_print(sentence, sizeof(sentence),
			 "%s: call %.60s to %.80s was not established (%s)",
			 role->role, failed->name, failed->peer, why);
	if (used > 0 && n->placed - n->placed_established > 1)
		str_print(sentence + used, sizeof(sentence) - (size_t)used,
			  "; %" PRIu64 " of %" PRIu64 " calls were not",
			  n->placed - n->placed_established, n->placed);
	return add(verdicts, role, text, expected, actual, failed->name,
		   sentence);
}

static int judge_taken(const struct role_record *role,
		       const struct call_counts *n, json_t *verdicts)
{
	char text[160], actual[40], sentence[JUDGE_REASON_BYTES];

	str_print(text, sizeof(text), "%s: a call comes in", role->role);
	str_print(actual, sizeof(actual), "%" PRIu64, n->taken);
	str_print(sentence, sizeof(sentence),
		  "%s: waited for calls, and none came in", role->role);
	return add(verdicts, role, text, "at least 1", actual, NULL,
		   n->taken ? NULL : sentence);
}

static int judge_ends(const struct role_record *role,
		      const struct call_counts *n, json_t *verdicts)
{
	char text[160], expected[40], actual[40];
	char sentence[2 * JUDGE_REASON_BYTES], why[CALL_END_BYTES];
	const struct call_record *bad = n->first_bad_end;
	int used;

	if (!n->ends)
		return 0;
	str_print(text, sizeof(text), "%s: every call ends as the test asks",
		  role->role);
	str_print(expected, sizeof(expected), "%" PRIu64, n->ends);
	str_print(actual, sizeof(actual), "%" PRIu64, n->ends - n->bad_ends);
	if (!bad)
		return add(verdicts, role, text, expected, actual, NULL, NULL);
	call_end_text(why, sizeof(why), bad);
	used = str_print(sentence, sizeof(sentence),
			 "%s: call %.60s %s %.80s %s (%s)", role->role,
			 bad->name, bad->outgoing ? "to" : "from", bad->peer,
			 bad->established ? "was established, but failed"
					  : "was not established",
			 why);
	if (used > 0 && n->bad_ends > 1)
		str_print(sentence + used, sizeof(sentence) - (size_t)used,
			  "; %" PRIu64 " of %" PRIu64
			  " calls ended otherwise than the test asked",
			  n->bad_ends, n->ends);
	return add(verdicts, role, text, expected, actual, bad->name, sentence);
}

static int judge_registered(const struct judge_input *in,
			    const struct role_record *role, json_t *verdicts)
{
	const struct account_record *accounts =
		RECORDS(in, accounts, account_record);
	const struct account_record *bad = NULL;
	char text[160], expected[40], actual[40];
	char sentence[2 * JUDGE_REASON_BYTES];
	unsigned total = 0, good = 0;

	for (size_t i = 0; i < in->accounts.count; i++) {
		const struct account_record *a = &accounts[i];

		if (strcmp(a->role, role->role) != 0)
			continue;
		total++;
		if (a->attempts && !a->failures)
			good++;
		else if (!bad)
			bad = a;
	}
	str_print(text, sizeof(text), "%s: every registration succeeds",
		  role->role);
	str_print(expected, sizeof(expected), "%u", total);
	str_print(actual, sizeof(actual), "%u", good);
	if (!total)
		str_print(sentence, sizeof(sentence),
			  "%s: no account was registered", role->role);
	else if (bad && !bad->attempts)
		str_print(sentence, sizeof(sentence),
			  "%s: account %.60s was never registered", role->role,
			  bad->name);
	else if (bad && bad->code)
		str_print(sentence, sizeof(sentence),
			  "%s: registering account %.60s failed: %d %.80s",
			  role->role, bad->name, bad->code, bad->reason);
	else if (bad)
		str_print(sentence, sizeof(sentence),
			  "%s: registering account %.60s failed: %.80s",
			  role->role, bad->name,
			  bad->reason[0] ? bad->reason : "no answer");
	return add(verdicts, role, text, expected, actual, NULL,
		   total && !bad ? NULL : sentence);
}

static int judge_asserts(const struct judge_input *in, json_t *verdicts)
{
	const struct assert_record *asserts =
		RECORDS(in, asserts, assert_record);

	for (size_t i = 0; i < in->asserts.count; i++) {
		const struct assert_record *a = &asserts[i];
		const struct role_record role = {.role = a->role};
		char text[160], sentence[2 * JUDGE_REASON_BYTES];
		int err;

		str_print(text, sizeof(text), "%s: %.40s %.60s holds", a->role,
			  a->action, a->argument);
		str_print(sentence, sizeof(sentence),
			  "%s: %.40s %.60s did not hold in call %.60s: %.200s",
			  a->role, a->action, a->argument, a->call, a->text);
		err = add(verdicts, &role, text, "holds", "did not hold",
			  a->call, sentence);
		if (err)
			return err;
	}
	return 0;
}

static int judge_sipps(const struct judge_input *in, json_t *verdicts)
{
	const struct sipp_record *sipps = RECORDS(in, sipps, sipp_record);

	for (size_t i = 0; i < in->sipps.count; i++) {
		const struct sipp_record *s = &sipps[i];
		const struct role_record role = {.role = s->role};
		char text[160], sentence[2 * JUDGE_REASON_BYTES];
		int err;

		str_print(text, sizeof(text), "%s: SIPp carries out %.80s",
			  s->role, s->scenario);
		str_print(sentence, sizeof(sentence),
			  "%s: SIPp did not carry out %.80s: %.200s%s%.200s",
			  s->role, s->scenario, s->end, s->error[0] ? ": " : "",
			  s->error);
		err = add(verdicts, &role, text, "no call fails", s->end, NULL,
			  s->ok ? NULL : sentence);
		if (err)
			return err;
	}
	return 0;
}

static int judge_role_builtins(const struct judge_input *in,
			       const struct judge_conditions *conditions,
			       const struct role_record *role, json_t *verdicts)
{
	struct call_counts n;
	const struct judge_replaced replaced =
		judge_conditions_replace(conditions, role->role);
	int err = 0;

	count_calls(&n, in, role->role);
	if (role->registers && !replaced.registers)
		err = judge_registered(in, role, verdicts);
	if (!err && role->places_calls && !in->ended_early)
		err = judge_placed(role, &n, verdicts);
	if (!err && role->places_calls && !replaced.calls)
		err = judge_established(role, &n, verdicts);
	if (!err && role->answers && !replaced.calls)
		err = judge_taken(role, &n, verdicts);
	if (!err && !replaced.calls)
		err = judge_ends(role, &n, verdicts);
	return err;
}

static int builtin_judge(const struct judge_input *in,
			 const struct judge_conditions *conditions,
			 json_t *verdicts)
{
	const struct role_record *roles = RECORDS(in, roles, role_record);
	int err = 0;

	for (size_t i = 0; !err && i < in->roles.count; i++)
		err = judge_role_builtins(in, conditions, &roles[i], verdicts);
	if (!err)
		err = judge_asserts(in, verdicts);
	return err ? err : judge_sipps(in, verdicts);
}

/* ---- the description ---- */

/* Join sentences up to the ceiling, and count the others. */
struct sentences {
	struct buf text;
	size_t left_out;
	int err;
};

static void sentence_add(struct sentences *s, const char *text)
{
	/* Leave room for "; and N more". */
	if (s->left_out ||
	    s->text.used + strlen(text) + 2 > JUDGE_DESCRIPTION_BYTES - 40) {
		s->left_out++;
		return;
	}
	if (!s->err)
		s->err = buf_print(&s->text, "%s%s", s->text.used ? "; " : "",
				   text);
	if (!s->err)
		str_utf8_repair(s->text.data);
}

static int sentences_end(struct sentences *s, char **ret)
{
	if (!s->err && s->left_out)
		s->err = buf_print(&s->text, "; and %zu more", s->left_out);
	if (!s->err && !s->text.used) {
		*ret = strdup("");
		s->err = *ret ? 0 : -ENOMEM;
	} else if (!s->err) {
		*ret = s->text.data;
		buf_init(&s->text, 0);
	}
	buf_release(&s->text);
	return s->err;
}

#define SATURATED "generator saturated: "

/* The text of a saturated generator is a sentence with its evidence. */
static void flaw_text(char *text, size_t size, const struct flaw_record *f)
{
	if (strncmp(f->text, SATURATED, sizeof(SATURATED) - 1) == 0)
		str_print(text, size, "%s: %.*s", f->role,
			  2 * JUDGE_REASON_BYTES - 80, f->text);
	else
		str_print(text, size,
			  "%s: the tester itself was at fault: %.60s %" PRId64
			  " (%.200s)",
			  f->role, f->name, f->count, f->text);
}

/* @return how many calls of a role began and have no end that was reported, although the
 * role gave its evidence, which is the last that it reports */
static size_t unaccounted(const struct judge_input *in,
			  const struct role_record *role,
			  const struct call_record **ret_first)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	size_t count = 0;

	*ret_first = NULL;
	for (size_t i = 0; role_has_evidence(role) && i < in->calls.count;
	     i++) {
		if (calls[i].finished || strcmp(calls[i].role, role->role) != 0)
			continue;
		if (!*ret_first)
			*ret_first = &calls[i];
		count++;
	}
	return count;
}

static size_t all_unaccounted(const struct judge_input *in)
{
	const struct role_record *roles = RECORDS(in, roles, role_record);
	const struct call_record *first;
	size_t count = 0;

	for (size_t i = 0; i < in->roles.count; i++)
		count += unaccounted(in, &roles[i], &first);
	return count;
}

static void add_unaccounted(struct sentences *s, const struct judge_input *in,
			    const struct role_record *role)
{
	const struct call_record *first;
	const size_t count = unaccounted(in, role, &first);
	char text[JUDGE_REASON_BYTES];

	if (!count)
		return;
	str_print(text, sizeof(text),
		  "%s: the tester itself was at fault: it never reported how "
		  "%zu %s ended (the first is %.60s)",
		  role->role, count, count == 1 ? "call" : "calls",
		  first->name);
	sentence_add(s, text);
}

/* A run in which the tester itself lost packets or calls is errored. */
static void add_flaws(struct sentences *s, const struct judge_input *in)
{
	const struct flaw_record *flaws = RECORDS(in, flaws, flaw_record);
	const struct role_record *roles = RECORDS(in, roles, role_record);

	for (size_t i = 0; i < in->flaws.count; i++) {
		char text[2 * JUDGE_REASON_BYTES];

		flaw_text(text, sizeof(text), &flaws[i]);
		sentence_add(s, text);
	}
	for (size_t i = 0; i < in->roles.count; i++) {
		char text[JUDGE_REASON_BYTES];

		add_unaccounted(s, in, &roles[i]);
		if (role_has_evidence(&roles[i]))
			continue;
		str_print(text, sizeof(text),
			  "%s: the agent gave no evidence that it was not at "
			  "fault itself (packets dropped or sent late)",
			  roles[i].role);
		sentence_add(s, text);
	}
}

static void add_failures(struct sentences *s, const json_t *verdicts,
			 bool undecided)
{
	const json_t *verdict;
	size_t i;

	json_array_foreach(verdicts, i, verdict)
	{
		const char *text =
			json_string_value(json_object_get(verdict, "sentence"));

		if (json_is_true(json_object_get(verdict, "passed")) ||
		    json_is_true(json_object_get(verdict, "undecided")) !=
			    undecided)
			continue;
		sentence_add(s, text ? text : "a condition failed");
	}
}

/* What is certain goes before what is not: a fault of the tester, a condition
 * that failed, one that too few calls leave open. */
static enum judge_status give_reasons(struct sentences *s,
				      const struct judge_input *in,
				      const json_t *verdicts)
{
	add_flaws(s, in);
	if (s->text.used)
		return JUDGE_ERRORED;
	add_failures(s, verdicts, false);
	if (s->text.used)
		return JUDGE_FAILED;
	add_failures(s, verdicts, true);
	return s->text.used ? JUDGE_ERRORED : JUDGE_PASSED;
}

int judge_is_decided(struct judge_input *in,
		     const struct judge_conditions *conditions)
{
	int err;

	in->in_progress = true;
	err = judge_input_link(in);
	return err ? err : judge_conditions_decided(conditions, in);
}

int judge_run(struct judge_result *ret, struct judge_input *in,
	      const struct judge_conditions *conditions)
{
	struct sentences sentences = {0};
	enum judge_status status = JUDGE_PASSED;
	json_t *verdicts = json_array();
	char *description = NULL;
	int err;

	buf_init(&sentences.text, JUDGE_DESCRIPTION_BYTES);
	err = verdicts ? judge_input_link(in) : -ENOMEM;
	if (!err)
		err = builtin_judge(in, conditions, verdicts);
	if (!err)
		err = judge_conditions_judge(conditions, in, verdicts);
	if (err)
		goto out;
	status = give_reasons(&sentences, in, verdicts);
	if (status == JUDGE_PASSED && !json_array_size(verdicts)) {
		status = JUDGE_FAILED;
		sentence_add(&sentences,
			     "the run did nothing that could be judged");
	}
	err = sentences_end(&sentences, &description);
	if (err)
		goto out;
	*ret = (struct judge_result){.status = status,
				     .verdicts = verdicts,
				     .description = description,
				     .flaws = in->flaws.count +
					      all_unaccounted(in)};
	return 0;
out:
	buf_release(&sentences.text);
	json_decref(verdicts);
	return err;
}

void judge_result_release(struct judge_result *r)
{
	json_decref(r->verdicts);
	free(r->description);
	*r = (struct judge_result){0};
}
