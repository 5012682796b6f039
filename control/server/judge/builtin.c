/* What holds without being asked for: a run does not pass by doing nothing. */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What a role's own conditions speak about: there they replace ours. */
struct spoken {
	bool calls;
	bool registers;
};

static bool replaces_calls(const struct condition *c)
{
	if (c->set->type == &condition_state)
		return strncmp(ua_state_name(c->state), "CALL_", 5) == 0;
	return c->set->type == &condition_call_count ||
	       condition_sip_asks_refusal(c);
}

static bool replaces_registers(const struct condition *c)
{
	return c->set->type == &condition_state && c->state <= UA_UNREGISTERING;
}

static void spoken_of(struct spoken *s, const struct judge_conditions *c,
		      const char *role)
{
	*s = (struct spoken){0};
	for (size_t i = 0; i < c->count; i++) {
		const struct condition_set *set = &c->sets[i];

		if (strcmp(set->role, role) != 0 || !set->count)
			continue;
		for (size_t k = 0; k < set->count; k++) {
			if (replaces_calls(&set->conditions[k]))
				s->calls = true;
			if (replaces_registers(&set->conditions[k]))
				s->registers = true;
		}
	}
}

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

/* A call placed in vain is judged by judge_established(). */
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

static int judge_role_builtins(const struct judge_input *in,
			       const struct judge_conditions *conditions,
			       const struct role_record *role, json_t *verdicts)
{
	struct call_counts n;
	struct spoken spoken;
	int err = 0;

	count_calls(&n, in, role->role);
	spoken_of(&spoken, conditions, role->role);
	if (role->registers && !spoken.registers)
		err = judge_registered(in, role, verdicts);
	if (!err && role->places_calls)
		err = judge_placed(role, &n, verdicts);
	if (!err && role->places_calls && !spoken.calls)
		err = judge_established(role, &n, verdicts);
	if (!err && role->answers && !spoken.calls)
		err = judge_taken(role, &n, verdicts);
	if (!err && !spoken.calls)
		err = judge_ends(role, &n, verdicts);
	return err;
}

int builtin_judge(const struct judge_input *in,
		  const struct judge_conditions *conditions, json_t *verdicts)
{
	const struct role_record *roles = RECORDS(in, roles, role_record);
	int err = 0;

	for (size_t i = 0; !err && i < in->roles.count; i++)
		err = judge_role_builtins(in, conditions, &roles[i], verdicts);
	if (!err)
		err = judge_asserts(in, verdicts);
	return err;
}
