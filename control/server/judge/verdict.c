#include "control/server/judge/verdict.h"

#include "base/str.h"
#include "control/server/judge/input.h"
#include "control/wire/call_end.h"
#include "control/wire/text.h"

#include <errno.h>

int verdict_add(json_t *verdicts, const struct verdict *v)
{
	/* a text may have been cut within a UTF-8 character */
	json_t *object = json_pack(
		"{s:s, s:s, s:o, s:b, s:b, s:o, s:o, s:s*, s:o*, s:o*}", "role",
		v->role, "condition_type", v->condition_type, "text",
		wire_text(v->text), "passed", v->passed, "built_in",
		v->built_in, "expected", wire_text(v->expected), "actual",
		wire_text(v->actual), "call", v->call, "sentence",
		v->passed ? NULL : wire_text(v->sentence), "undecided",
		v->undecided ? json_true() : NULL);

	if (!object || json_array_append_new(verdicts, object))
		return -ENOMEM;
	return 0;
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
