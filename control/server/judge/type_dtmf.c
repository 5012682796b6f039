/* {role}-dtmf-conditions: the digits received in a call, or their durations */
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/server/judge/text_test.h"

#include <errno.h>
#include <string.h>

#define DIGITS_MAX 256 /* of a call that are tested */
#define MS_MAX     60000
/* two other ways, a dozen words and 20 digits each */
#define OTHERS_BYTES 112

static const char *const phrases[] = {"are",      "are not", "start with",
				      "end with", "hold",    "do not hold"};
static const char *const ways[] = {"any", "rtpevent", "info", "inband", NULL};

static const char *const fields[] = {"digits", "duration", NULL};

static struct condition_range duration_range(unsigned choice)
{
	return choice == 1 ? (struct condition_range){" ms", 0, MS_MAX}
			   : (struct condition_range){NULL, 0, 0};
}

static bool is_duration(const struct condition *c)
{
	return json_object_get(c->item, "field") &&
	       strcmp(json_string_value(json_object_get(c->item, "field")),
		      "duration") == 0;
}

static int digits_check(const struct condition *c,
			struct judge_problem *problem)
{
	const char *value =
		json_string_value(json_object_get(c->item, "value"));

	if (!value || strlen(value) > DIGITS_MAX ||
	    value[strspn(value, "0123456789*#ABCD")])
		return condition_refuse(
			problem, "value",
			"value must be digits (0-9 * # A-D), at most %d",
			DIGITS_MAX);
	return 0;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	unsigned field = 0;
	unsigned out = 0;
	int err = 0;

	if (json_object_get(c->item, "field"))
		err = condition_choice(&field, c, "field", fields, problem);
	if (!err && json_object_get(c->item, "direction"))
		err = condition_choice(&out, c, "direction",
				       condition_directions, problem);
	if (!err && json_object_get(c->item, "via"))
		err = condition_choice(&c->via, c, "via", ways, problem);
	c->outgoing = out == 1;
	if (err)
		return err;
	if (field == 1)
		return limit_parse(&c->limit, c->item, 0, MS_MAX, problem);
	err = condition_choice(&c->choice, c, "type", text_value_tests,
			       problem);
	return err ? err : digits_check(c, problem);
}

static bool is_way(const struct dtmf_record *d, bool outgoing, unsigned via)
{
	return d->outgoing == outgoing &&
	       (via == 0 || strcmp(d->via, ways[via]) == 0);
}

static bool counts(const struct condition *c, const struct dtmf_record *d)
{
	return is_way(d, c->outgoing, c->via);
}

/* Concatenate the digits of a call. @param via  0: any transport */
static void in_a_row(char digits[static DIGITS_MAX + 1],
		     const struct call_record *call, bool outgoing,
		     unsigned via)
{
	size_t used = 0;

	for (size_t i = 0; i < call->digit_count && used < DIGITS_MAX; i++)
		if (is_way(&call->digits[i], outgoing, via))
			digits[used++] = call->digits[i].digit;
	digits[used] = '\0';
}

/* Write the digits received by other transports than the condition's: " by
 * info, and "42" by rtpevent"; or "". */
static void other_ways(char text[static OTHERS_BYTES],
		       const struct condition *c,
		       const struct call_record *call)
{
	char digits[DIGITS_MAX + 1];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned via = 1; c->via && ways[via]; via++) {
		int n;

		if (via == c->via)
			continue;
		in_a_row(digits, call, c->outgoing, via);
		if (!digits[0])
			continue;
		n = str_print(text + used, OTHERS_BYTES - used,
			      "%s%s%s \"%.20s%s\" by %s", used ? "" : " by ",
			      used ? "" : ways[c->via], used ? " and" : ", but",
			      digits, strlen(digits) > 20 ? "..." : "",
			      ways[via]);
		used += n > 0 ? (size_t)n : 0;
	}
}

static bool matches(const struct condition *c, const char *digits)
{
	const struct sip_part part = {digits, strlen(digits)};
	const char *value =
		json_string_value(json_object_get(c->item, "value"));
	enum text_test test = (enum text_test)c->choice;

	return text_test_holds(test, part, value) != text_test_negated(test);
}

static void judge_digits(struct tally *t, const struct condition *c,
			 const struct call_record *call, const char *expected)
{
	char digits[DIGITS_MAX + 1];
	char actual[NUMBER_TEXT_BYTES], others[OTHERS_BYTES];

	in_a_row(digits, call, c->outgoing, c->via);
	str_print(actual, sizeof(actual), "\"%.40s\"", digits);
	t->subjects++;
	if (matches(c, digits)) {
		bool other = t->held[0] && strcmp(t->held, actual) != 0;

		str_print(t->held, sizeof(t->held), "%s",
			  other ? "different ones" : actual);
		return;
	}
	other_ways(others, c, call);
	tally_miss(t, call->name, actual,
		   "digits %s of call %.60s were \"%.60s\"%s, expected that "
		   "they %.60s",
		   c->outgoing ? "sent" : "received", call->name, digits,
		   others, expected);
}

static void judge_durations(struct tally *t, const struct condition *c,
			    const struct call_record *call,
			    const char *expected)
{
	char actual[NUMBER_TEXT_BYTES];
	size_t seen = 0;

	for (size_t i = 0; i < call->digit_count; i++) {
		const struct dtmf_record *d = &call->digits[i];

		if (!counts(c, d) || !d->has_ms)
			continue;
		seen++;
		if (tally_figure(t, &c->limit, d->ms))
			continue;
		number_text(actual, d->ms, " ms");
		tally_miss(t, call->name, actual,
			   "digit %c of call %.60s lasted %s, expected %s",
			   d->digit, call->name, actual, expected);
	}
	if (seen)
		return;
	t->subjects++;
	tally_miss(t, call->name, "none",
		   "call %.60s has no digit %s whose duration is known, "
		   "expected %s",
		   call->name, c->outgoing ? "sent" : "received", expected);
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	bool duration = is_duration(c);
	char text[256], expected[LIMIT_TEXT_BYTES];
	struct tally t = {0};

	if (duration)
		limit_text(expected, &c->limit, " ms");
	else
		str_print(expected, sizeof(expected), "%s \"%.40s\"",
			  phrases[c->choice],
			  json_string_value(json_object_get(c->item, "value")));
	str_print(text, sizeof(text), "%s: %s %s in every call%s%s %s",
		  c->set->role, duration ? "duration of each digit" : "digits",
		  c->outgoing ? "sent" : "received", c->via ? " by " : "",
		  c->via ? ways[c->via] : "", expected);
	for (size_t i = 0; i < in->calls.count; i++) {
		if (strcmp(calls[i].role, c->set->role) != 0 ||
		    calls[i].serves_other)
			continue;
		if (duration)
			judge_durations(&t, c, &calls[i], expected);
		else
			judge_digits(&t, c, &calls[i], expected);
	}
	return tally_verdict(&t, c, text, expected, " ms",
			     "there was no call, so there are no digits",
			     verdicts);
}

/* clang-format off */
static const struct condition_field dtmf_fields[] = {
	{.name = "field", .word = "What is tested", .choices = fields, .fallback = "digits"},
	{.name = "direction", .word = "Direction", .choices = condition_directions, .fallback = "in"},
	{.name = "via", .word = "Sent by", .choices = ways, .fallback = "any"},
	{.name = "type", .word = "Test", .choices = text_value_tests, .only = "field digits"},
	{.name = "type", .word = "Comparison", .choices = condition_compares, .only = "field duration"},
	{.name = "value", .word = "Digits or limit", .range = duration_range, .range_by = "field", .help = "0-9 * # A-D"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_dtmf = {
	.suffix = "dtmf-conditions",
	.word = "Digits",
	.scope = "every call",
	.help = "the digits of every call as one text, in the order in which they came (out: were sent). Only digits that were sent by `via` count; the duration of each digit; there must be at least one digit",
	.fields = dtmf_fields,
	.options = (const char *const[]){NULL},
	.parse = parse,
	.judge = judge,
};
