#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/wire/event.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int verdict_add(json_t *verdicts, const struct verdict *v)
{
	/* texts may be cut within a character of a value or a peer's words */
	json_t *object = json_pack(
		"{s:s, s:s, s:o, s:b, s:b, s:o, s:o, s:s*, s:o*}", "role",
		v->role, "condition_type", v->condition_type, "text",
		wire_text(v->text), "passed", v->passed, "built_in",
		v->built_in, "expected", wire_text(v->expected), "actual",
		wire_text(v->actual), "call", v->call, "sentence",
		v->passed ? NULL : wire_text(v->sentence));

	if (!object || json_array_append_new(verdicts, object))
		return -ENOMEM;
	return 0;
}

bool tally_figure(struct tally *t, const struct limit *limit, double figure)
{
	t->subjects++;
	if (!t->figures || figure < t->lowest)
		t->lowest = figure;
	if (!t->figures || figure > t->highest)
		t->highest = figure;
	t->figures++;
	return limit_holds(limit, figure);
}

/* " caller-3 (PCMA), caller-4 (G722), ..." */
static void also_missed(struct tally *t, const char *call)
{
	size_t used = strlen(t->also);
	char one[80];

	if (!call || t->also_full)
		return;
	str_print(one, sizeof(one), "%s%.40s%s%s%s", used ? ", " : "", call,
		  t->label && t->label[0] ? " (" : "", t->label ? t->label : "",
		  t->label && t->label[0] ? ")" : "");
	t->also_full = used + strlen(one) + sizeof(", ...") > sizeof(t->also);
	str_print(t->also + used, sizeof(t->also) - used, "%s",
		  t->also_full ? ", ..." : one);
}

void tally_miss(struct tally *t, const char *call, const char *actual,
		const char *fmt, ...)
{
	va_list ap;

	if (t->misses++) {
		also_missed(t, call);
		return;
	}
	t->miss_call = call;
	if (str_copy(t->actual, sizeof(t->actual), actual))
		memcpy(t->actual, "?", 2);
	va_start(ap, fmt);
	(void)vsnprintf(t->miss, sizeof(t->miss), fmt, ap);
	va_end(ap);
}

static void range_text(char *text, size_t size, const struct tally *t,
		       const char *unit)
{
	char low[NUMBER_TEXT_BYTES], high[NUMBER_TEXT_BYTES];

	text[0] = '\0';
	if (!t->figures)
		return;
	number_text(low, t->lowest, t->lowest == t->highest ? unit : "");
	number_text(high, t->highest, unit);
	if (t->lowest == t->highest)
		str_print(text, size, "%s", low);
	else
		str_print(text, size, "%s to %s", low, high);
}

int tally_verdict(const struct tally *t, const struct condition *c,
		  const char *text, const char *expected, const char *unit,
		  const char *none, json_t *verdicts)
{
	char range[2 * NUMBER_TEXT_BYTES + 8];
	char sentence[2 * JUDGE_REASON_BYTES];
	struct verdict v = {
		.role = c->set->role,
		.condition_type = c->set->name,
		.text = text,
		.expected = expected,
		.actual = range,
		.sentence = sentence,
		.passed = t->subjects && !t->misses,
	};

	range_text(range, sizeof(range), t, unit);
	if (!range[0])
		(void)str_copy(range, sizeof(range), t->held);
	if (!t->subjects) {
		str_print(sentence, sizeof(sentence), "%s: %s, expected %s",
			  c->set->role, none, expected);
	} else if (t->misses) {
		int used = str_print(sentence, sizeof(sentence), "%s: %s",
				     c->set->role, t->miss);

		if (used > 0 && t->subjects > 1)
			str_print(sentence + used,
				  sizeof(sentence) - (size_t)used,
				  " (%zu of %zu do not hold it%s%s)", t->misses,
				  t->subjects, t->also[0] ? "; also " : "",
				  t->also);
		v.call = t->miss_call;
		v.actual = t->actual;
	}
	return verdict_add(verdicts, &v);
}

bool call_failed(const struct call_record *call)
{
	return !call->established || !call->ended_as_asked;
}

void call_end_text(char *text, size_t size, const struct call_record *call)
{
	text[0] = '\0';
	if (call->finished)
		wire_call_refusal_text(text, size, call->event);
	if (text[0])
		return;
	if (!call->finished)
		str_print(text, size, "the agent never accounted for it");
	else if (call->reason[0])
		str_print(text, size, "%.200s", call->reason);
	else
		str_print(text, size, "ended: %.20s",
			  call->end[0] ? call->end : "unknown");
}
