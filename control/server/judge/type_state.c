/* {role}-sipclient-state-conditions: which states calls and accounts reached */
#include "base/str.h"
#include "control/server/judge/condition.h"

#include <errno.h>
#include <string.h>

enum {
	STRICT_ORDER
};

/* States of an account, not of a call. */
static bool of_account(enum ua_state state)
{
	return state <= UA_UNREGISTERING || state == UA_MWI_NOTIFY ||
	       state >= UA_PRESENCE_NOTIFY;
}

static const char *const tests[] = {"has", "hasnot", NULL};

static const char *state_at(unsigned index)
{
	return index < UA_STATE_COUNT ? ua_state_name((enum ua_state)index)
				      : NULL;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	const char *state =
		json_string_value(json_object_get(c->item, "state"));
	unsigned type;
	int err;

	err = condition_choice(&type, c, "type", tests, problem);
	if (err)
		return err;
	c->negated = type == 1;
	if (!state || !ua_state_parse(state, &c->state))
		return condition_refuse(problem, "state",
					"state must be one of the state names, "
					"such as CALL_ESTABLISHED; '%.60s' is "
					"none",
					state ? state : "");
	return 0;
}

/* Sentences for states that were not reached and whose names do not explain
 * that. */
static const char *meaning(enum ua_state state)
{
	if (state == UA_CALL_MENC)
		return "no media encryption was agreed on";
	if (state == UA_CALL_RTPESTAB)
		return "no RTP came";
	if (state == UA_CALL_DTMF_START)
		return "no digit came";
	return "";
}

/* Get the only codec of the call's SDP, to tell calls with one codec each
 * apart. */
static const char *only_codec(const struct call_record *call)
{
	const json_t *codecs = json_object_get(call->event, "audio_codecs");

	return json_array_size(codecs) == 1
		       ? json_string_value(json_array_get(codecs, 0))
		       : NULL;
}

static void subject(struct tally *t, const struct condition *c,
		    const char *noun, const char *call, const char *name,
		    uint64_t reached, const char *why)
{
	const char *state = ua_state_name(c->state);
	bool has = reached & (UINT64_C(1) << c->state);

	t->subjects++;
	if (has == !c->negated)
		return;
	if (c->negated)
		tally_miss(t, call, state, "%s %.60s reached %s, expected not",
			   noun, name, state);
	else
		tally_miss(t, call, "not reached",
			   "%s %.60s did not reach %s%s%s%s", noun, name, state,
			   why[0] ? " (" : "", why, why[0] ? ")" : "");
}

static void each_call(const struct judge_input *in, const struct condition *c,
		      struct tally *t)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);

	for (size_t i = 0; i < in->calls.count; i++) {
		char why[CALL_END_BYTES] = "";

		if (strcmp(calls[i].role, c->set->role) != 0 ||
		    calls[i].serves_other)
			continue;
		if (!calls[i].established)
			call_end_text(why, sizeof(why), &calls[i]);
		else
			(void)str_copy(why, sizeof(why), meaning(c->state));
		t->label = only_codec(&calls[i]);
		subject(t, c, "call", calls[i].name, calls[i].name,
			calls[i].reached, why);
	}
}

static void each_account(const struct judge_input *in,
			 const struct condition *c, struct tally *t)
{
	const struct account_record *accounts =
		RECORDS(in, accounts, account_record);

	for (size_t i = 0; i < in->accounts.count; i++) {
		const struct account_record *account = &accounts[i];
		char why[96] = "";

		if (strcmp(account->role, c->set->role) != 0)
			continue;
		if (account->failures && account->code)
			str_print(why, sizeof(why), "%d %.80s", account->code,
				  account->reason);
		else if (account->failures)
			str_print(why, sizeof(why), "%.90s",
				  account->reason[0] ? account->reason
						     : "no answer");
		subject(t, c, "account", NULL, account->name, account->reached,
			why);
	}
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const char *state = ua_state_name(c->state);
	bool account = of_account(c->state);
	const char *noun = account ? "account" : "call";
	char text[160], expected[64];
	char none[80];
	struct tally t = {0};

	str_print(text, sizeof(text), "%s: %s %s %s %s", c->set->role,
		  c->negated ? "no" : "every", noun,
		  c->negated ? "reaches" : "reaches", state);
	str_print(expected, sizeof(expected), "%s%s", c->negated ? "not " : "",
		  state);
	if (account)
		each_account(in, c, &t);
	else
		each_call(in, c, &t);
	if (!t.subjects && c->negated) { /* none did: there was none */
		struct verdict v = {.role = c->set->role,
				    .condition_type = c->set->name,
				    .text = text,
				    .passed = true,
				    .expected = expected,
				    .actual = ""};
		return verdict_add(verdicts, &v);
	}
	str_print(none, sizeof(none), "there was no %s", noun);
	if (!t.misses && t.subjects) {
		struct verdict v = {.role = c->set->role,
				    .condition_type = c->set->name,
				    .text = text,
				    .passed = true,
				    .expected = expected,
				    .actual = expected};
		return verdict_add(verdicts, &v);
	}
	return tally_verdict(&t, c, text, expected, "", none, verdicts);
}

/* Count the wanted states that were reached in the listed order, in two lists
 * of states merged by time. */
static size_t in_order(const struct condition_set *set,
		       const struct state_record *a, size_t a_count,
		       const struct state_record *b, size_t b_count,
		       const struct condition **missing)
{
	size_t next = 0, i = 0, k = 0, found = 0;

	while (next < set->count && set->conditions[next].negated)
		next++;
	while (next < set->count && (i < a_count || k < b_count)) {
		const struct state_record *s;

		if (k >= b_count ||
		    (i < a_count && a[i].mono_ns <= b[k].mono_ns))
			s = &a[i++];
		else
			s = &b[k++];
		if (s->state != set->conditions[next].state)
			continue;
		found++;
		do
			next++;
		while (next < set->count && set->conditions[next].negated);
	}
	*missing = next < set->count ? &set->conditions[next] : NULL;
	return found;
}

/* "there is no CALL_ANSWERED after CALL_RTPESTAB" */
static const char *gap_text(char *text, size_t size,
			    const struct condition_set *set,
			    const struct condition *missing)
{
	const struct condition *before = NULL;

	for (const struct condition *c = set->conditions; c < missing; c++)
		if (!c->negated)
			before = c;
	str_print(text, size, "there is no %s%s%s",
		  ua_state_name(missing->state), before ? " after " : "",
		  before ? ua_state_name(before->state) : "");
	return text;
}

static const struct account_record *account_of(const struct judge_input *in,
					       const struct call_record *call)
{
	const struct account_record *accounts =
		RECORDS(in, accounts, account_record);

	for (size_t i = 0; i < in->accounts.count; i++)
		if (strcmp(accounts[i].role, call->role) == 0 &&
		    strcmp(accounts[i].name, call->account) == 0)
			return &accounts[i];
	return NULL;
}

static void order_of_call(struct tally *t, const struct judge_input *in,
			  const struct condition_set *set,
			  const struct call_record *call)
{
	const struct account_record *account = account_of(in, call);
	const struct condition *missing;
	char gap[80];

	t->subjects++;
	in_order(set, account ? account->states : NULL,
		 account ? account->state_count : 0, call->states,
		 call->state_count, &missing);
	if (missing)
		tally_miss(t, call->name, "out of order",
			   "the states of call %.60s are not in the listed "
			   "order: %s",
			   call->name,
			   gap_text(gap, sizeof(gap), set, missing));
}

static void order_of_account(struct tally *t, const struct condition_set *set,
			     const struct account_record *account)
{
	const struct condition *missing;
	char gap[80];

	t->subjects++;
	in_order(set, account->states, account->state_count, NULL, 0, &missing);
	if (missing)
		tally_miss(t, NULL, "out of order",
			   "the states of account %.60s are not in the listed "
			   "order: %s",
			   account->name,
			   gap_text(gap, sizeof(gap), set, missing));
}

static void order_text(char *text, size_t size, const struct condition_set *set)
{
	size_t used = (size_t)str_print(text, size, "%s:", set->role);

	for (size_t i = 0; i < set->count; i++) {
		int n;

		if (set->conditions[i].negated || used >= size)
			continue;
		n = str_print(text + used, size - used, "%s %s",
			      text[used - 1] == ':' ? "" : ",",
			      ua_state_name(set->conditions[i].state));
		used = n < 0 ? size : used + (size_t)n;
	}
	if (used < size)
		str_print(text + used, size - used, " in this order");
}

static int judge_set(const struct judge_input *in,
		     const struct condition_set *set, json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	const struct account_record *accounts =
		RECORDS(in, accounts, account_record);
	struct condition first = {.set = set};
	bool of_calls = false, any = false;
	struct tally t = {0};
	char text[256];

	for (size_t i = 0; i < set->count; i++) {
		if (set->conditions[i].negated)
			continue;
		any = true;
		if (!of_account(set->conditions[i].state))
			of_calls = true;
	}
	if (!(set->options & (1u << STRICT_ORDER)) || !any)
		return 0;
	for (size_t i = 0; of_calls && i < in->calls.count; i++)
		if (strcmp(calls[i].role, set->role) == 0 &&
		    !calls[i].serves_other)
			order_of_call(&t, in, set, &calls[i]);
	for (size_t i = 0; !of_calls && i < in->accounts.count; i++)
		if (strcmp(accounts[i].role, set->role) == 0)
			order_of_account(&t, set, &accounts[i]);
	order_text(text, sizeof(text), set);
	return tally_verdict(&t, &first, text, "this order", "",
			     of_calls ? "there was no call"
				      : "there was no account",
			     verdicts);
}

/* clang-format off */
static const struct condition_field state_fields[] = {
	{.name = "type", .word = "Test", .choices = tests},
	{.name = "state", .word = "State", .choice_at = state_at},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_state = {
	.suffix = "sipclient-state-conditions",
	.word = "State of calls",
	.scope = "every call, or every account",
	.help = "has: every call of the role reached the state, and there was a call; hasnot: none did. States of accounts are about every account",
	.fields = state_fields,
	.options = (const char *const[]){"strict_order", NULL},
	.parse = parse,
	.judge = judge,
	.judge_set = judge_set,
};
