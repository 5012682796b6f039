#include "control/cli/call/verdict.h"

#include "base/str.h"
#include "control/wire/call_end.h"
#include "control/wire/json.h"
#include "control/wire/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

void verdict_init(struct verdict *v, bool registers)
{
	*v = (struct verdict){
		.calls = json_array(),
		.asserts = json_array(),
		.digits = json_array(),
		.flaws = json_array(),
		.registers = json_array(),
		.recordings = json_array(),
		.registers_only = registers,
	};
}

void verdict_release(struct verdict *v)
{
	json_decref(v->calls);
	json_decref(v->asserts);
	json_decref(v->digits);
	json_decref(v->flaws);
	json_decref(v->registers);
	json_decref(v->recordings);
	json_decref(v->evidence);
}

void verdict_error(struct verdict *v, const char *fmt, ...)
{
	va_list args;

	if (v->errored)
		return;
	v->errored = true;
	va_start(args, fmt);
	vsnprintf(v->reason, sizeof(v->reason), fmt, args);
	va_end(args);
	str_utf8_repair(v->reason); /* a peer's text may have been cut */
}

__attribute__((format(printf, 2, 3))) static void verdict_fail(
	struct verdict *v, const char *fmt, ...)
{
	va_list args;

	if (v->failed || v->errored)
		return;
	v->failed = true;
	va_start(args, fmt);
	vsnprintf(v->reason, sizeof(v->reason), fmt, args);
	va_end(args);
	str_utf8_repair(v->reason); /* a peer's text may have been cut */
}

/** Count the packets of a direction. Of packets sent only those that the peer's
 * RTCP reports count as received, if it sent any. */
static json_int_t packets_flowed(json_t *call, const char *dir)
{
	json_int_t sum = 0;
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(call, "streams"), i, s)
	{
		json_t *received = json_object_get(s, "received");

		if (strcmp(text_of(s, "dir"), dir) != 0)
			continue;
		sum += json_integer_value(
			json_is_integer(received)
				? received
				: json_object_get(s, "packets"));
	}
	return sum;
}

/* Find the audio measurements of a direction. @return NULL: not decoded */
static json_t *audio_of(json_t *call, const char *dir)
{
	json_t *audio = NULL;
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(call, "streams"), i, s)
	{
		if (strcmp(text_of(s, "dir"), dir) == 0)
			audio = json_object_get(s, "audio");
	}
	return audio;
}

/* Correlation from which a window counts as the prompt
 * (docs/reference/audio.md). */
#define PROMPT_SAME 0.65

static void judge_audio(struct verdict *v, json_t *call)
{
	json_t *audio = audio_of(call, "in");
	json_t *match = json_object_get(audio, "prompt_match");
	const char *name = text_of(call, "call");
	const char *peer = text_of(call, "peer");

	if (!audio ||
	    json_number_value(json_object_get(audio, "expected_ms")) <= 0)
		return;
	if (json_number_value(json_object_get(audio, "heard_ms")) <= 0)
		verdict_fail(v,
			     "call %s was established, but %s was silent: no "
			     "sound in %.0f ms",
			     name, peer,
			     json_number_value(
				     json_object_get(audio, "expected_ms")));
	else if (v->expects_prompt && json_number_value(match) < PROMPT_SAME)
		verdict_fail(v,
			     "call %s: what %s said is not the expected "
			     "prompt: correlation %.2f, %.2f is the least",
			     name, peer, json_number_value(match), PROMPT_SAME);
}

static bool is_incoming(const json_t *call)
{
	return strcmp(text_of(call, "direction"), "in") == 0;
}

static bool is_established(const json_t *call)
{
	return json_is_true(json_object_get(call, "established"));
}

/* True for an incoming call that was refused because --actions asked for it. */
static bool is_refused_as_asked(const json_t *call)
{
	return is_incoming(call) && !is_established(call) &&
	       json_is_true(json_object_get(call, "expected_end"));
}

static void judge_call(struct verdict *v, json_t *call)
{
	const char *name = text_of(call, "call");
	const char *way = is_incoming(call) ? "from" : "to";
	char refusal[VERDICT_REASON_BYTES];

	if (is_refused_as_asked(call))
		return;
	wire_call_refusal_text(refusal, sizeof(refusal), call);
	if (!is_established(call)) {
		verdict_fail(v, "call %s %s %s was not established (%s): %s",
			     name, way, text_of(call, "peer"),
			     text_of(call, "end"),
			     refusal[0] ? refusal : text_of(call, "reason"));
	} else if (!wire_call_ended_as_asked(call)) {
		verdict_fail(v,
			     "call %s %s %s was established, but ended %s: %s",
			     name, way, text_of(call, "peer"),
			     text_of(call, "end"), text_of(call, "reason"));
	} else if (packets_flowed(call, "in") == 0) {
		verdict_fail(
			v, "call %s was established, but no audio came from %s",
			name, text_of(call, "peer"));
	} else if (packets_flowed(call, "out") == 0) {
		verdict_fail(v,
			     "call %s was established, but no audio went to %s",
			     name, text_of(call, "peer"));
	} else {
		judge_audio(v, call);
	}
}

/* As the controller's judge: packets that the tester itself lost make the
 * verdict errored, as they say nothing about the peer. */
static void judge_evidence(struct verdict *v, json_t *event)
{
	static const struct {
		const char *name;
		const char *text;
	} drops[] = {
		{"receive_queue_drops", "were dropped in our receive queue"},
		{"ring_drops", "were received but not measured, this machine "
			       "was too busy"},
	};

	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		json_int_t count = json_integer_value(
			json_object_get(event, drops[i].name));

		if (count > 0)
			verdict_error(v,
				      "the tester itself was at fault: %lld "
				      "packets %s",
				      (long long)count, drops[i].text);
	}
}

void verdict_event(struct verdict *v, json_t *event)
{
	const char *kind = text_of(event, "kind");

	if (strcmp(kind, "call") == 0) {
		json_array_append(v->calls, event);
		judge_call(v, event);
	} else if (strcmp(kind, "assert") == 0) {
		json_array_append(v->asserts, event);
	} else if (strcmp(kind, "dtmf") == 0) {
		if (json_array_size(v->digits) < VERDICT_DIGITS_MAX)
			json_array_append(v->digits, event);
	} else if (strcmp(kind, "artifact_lost") == 0) {
		verdict_error(v, "the recording %s is lost: %s",
			      text_of(event, "name"), text_of(event, "text"));
	} else if (strcmp(kind, "artifact_cut") == 0) {
		verdict_error(v, "the file %s is not complete: %s",
			      text_of(event, "name"), text_of(event, "text"));
	} else if (strcmp(kind, "register") == 0) {
		json_array_append(v->registers, event);
	} else if (strcmp(kind, "flaw") == 0) {
		json_array_append(v->flaws, event);
		verdict_error(v, "the tester itself was at fault: %s (%lld)",
			      text_of(event, "text"),
			      (long long)json_integer_value(
				      json_object_get(event, "count")));
	} else if (strcmp(kind, "evidence") == 0 && !v->evidence) {
		v->evidence = json_incref(event);
		judge_evidence(v, event);
	}
}

void verdict_recording(struct verdict *v, const char *path)
{
	json_array_append_new(v->recordings, json_string(path));
}

void verdict_finish(struct verdict *v, json_t *message)
{
	const char *outcome = text_of(message, "outcome");

	const char *reason = text_of(message, "reason");

	v->finished = true;
	if (strcmp(outcome, "error") == 0)
		verdict_error(v, "%s", reason[0] ? reason : outcome);
	else if (strcmp(outcome, "completed") != 0)
		verdict_fail(v, "%s", reason[0] ? reason : outcome);
}

bool verdict_passed(const struct verdict *v)
{
	const json_t *wanted = v->registers_only ? v->registers : v->calls;

	return v->finished && !v->failed && !v->errored &&
	       json_array_size(wanted) > 0 && json_array_size(v->asserts) == 0;
}

bool verdict_errored(const struct verdict *v)
{
	return v->errored;
}

static const char *registered_reason(struct verdict *v)
{
	json_t *event = json_array_get(v->registers, 0);

	if (!event)
		return "there was no answer to the REGISTER";
	snprintf(v->reason, sizeof(v->reason),
		 "%s was registered in %.1f ms for %d s",
		 text_of(event, "account"),
		 json_number_value(json_object_get(event, "ms")),
		 (int)json_integer_value(json_object_get(event, "expires_s")));
	return v->reason;
}

static size_t count_refused(const struct verdict *v)
{
	size_t count = 0, i;
	json_t *call;

	json_array_foreach(v->calls, i, call)
	{
		count += is_refused_as_asked(call);
	}
	return count;
}

const char *verdict_reason(struct verdict *v)
{
	size_t count = json_array_size(v->calls);
	size_t refused = count_refused(v);
	json_t *failed = json_array_get(v->asserts, 0);

	/* A failed call is a better reason than an assertion on that call. */
	if (failed)
		verdict_fail(v, "call %s: %s %s: %s", text_of(failed, "call"),
			     text_of(failed, "action"),
			     text_of(failed, "argument"),
			     text_of(failed, "text"));
	if (v->failed || v->errored)
		return v->reason;
	if (v->registers_only)
		return registered_reason(v);
	if (count == 0)
		return "there was no call";
	if (refused == count)
		snprintf(v->reason, sizeof(v->reason),
			 "%zu call%s refused, as asked", count,
			 count == 1 ? " was" : "s were");
	else
		snprintf(v->reason, sizeof(v->reason),
			 "%zu call%s established, audio flowed both ways",
			 count - refused,
			 count - refused == 1 ? " was" : "s were");
	return v->reason;
}

void verdict_print_json(struct verdict *v, FILE *out)
{
	json_t *o = json_pack("{s:b, s:b, s:s, s:O, s:O, s:O, s:O, s:O, s:O}",
			      "passed", verdict_passed(v), "errored",
			      v->errored, "reason", verdict_reason(v), "calls",
			      v->calls, "asserts", v->asserts, "digits",
			      v->digits, "registers", v->registers, "flaws",
			      v->flaws, "recordings", v->recordings);

	if (o && v->evidence)
		json_object_set(o, "evidence", v->evidence);
	if (o)
		json_dumpf(o, out, JSON_INDENT(2) | JSON_DECIMAL);
	fputc('\n', out);
	json_decref(o);
}
