#include "agent/engine/call/script.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

_Static_assert(UA_STATE_COUNT <= 64, "a bit a state");

static bool has_reached(const struct script *s, enum ua_state state)
{
	return s->reached >> state & 1;
}

static int64_t argument_ns(const struct wire_client_action *a)
{
	uint64_t ms = 0;

	/* Checked when the job was decoded. */
	(void)str_to_u64(a->argument, INT64_MAX / NS_PER_MS, &ms);
	return (int64_t)ms * NS_PER_MS;
}

void script_init(struct script *s, const struct wire_client_action *actions,
		 size_t count, const struct script_ops *ops, void *arg)
{
	*s = (struct script){
		.actions = actions,
		.count = count,
		.ops = ops,
		.arg = arg,
		.over = count == 0,
	};
}

static void fail(struct script *s, const char *text)
{
	const struct wire_client_action *a = &s->actions[s->next];

	s->over = true;
	s->ops->failed(a, text, s->arg);
}

static void done(struct script *s)
{
	s->next++;
	s->begun = false;
	s->over = s->next == s->count;
}

void script_state(struct script *s, enum ua_state state)
{
	s->reached |= UINT64_C(1) << state;
}

void script_digit(struct script *s, char digit)
{
	if (s->digit_count == SCRIPT_DIGITS_MAX)
		memmove(s->digits, s->digits + 1, --s->digit_count);
	s->digits[s->digit_count++] = digit;
	s->digits[s->digit_count] = '\0';
}

void script_reinvite(struct script *s, const char *refusal)
{
	const struct wire_client_action *a;

	if (s->over || !s->begun)
		return;
	a = &s->actions[s->next];
	if (a->type != WIRE_SCRIPT_HOLD && a->type != WIRE_SCRIPT_RESUME)
		return;
	if (refusal)
		fail(s, refusal);
	else
		s->reinvite_done = true;
}

void script_acted(struct script *s, enum wire_script_action type,
		  const char *refusal)
{
	if (s->over || !s->begun || s->actions[s->next].type != type)
		return;
	if (refusal)
		fail(s, refusal);
	else
		s->acted = true;
}

/* The functions below return true when the action at `next` is done or failed. */

static bool run_established(struct script *s, int64_t now_ns)
{
	const struct wire_client_action *a = &s->actions[s->next];

	if (has_reached(s, UA_CALL_ESTABLISHED)) {
		done(s);
		return true;
	}
	if (!s->begun) {
		s->begun = true;
		s->deadline_ns =
			a->argument[0] ? now_ns + argument_ns(a) : INT64_MAX;
	}
	if (now_ns < s->deadline_ns)
		return false;
	fail(s, "the call was not established in time");
	s->ops->hangup(s->arg);
	return true;
}

static bool run_state(struct script *s, int64_t now_ns)
{
	const struct wire_client_action *a = &s->actions[s->next];
	enum ua_state state;

	if (!ua_state_parse(a->argument, &state)) {
		fail(s, "there is no such state");
		return true;
	}
	if (has_reached(s, state)) {
		done(s);
		return true;
	}
	if (!s->begun) {
		s->begun = true;
		s->deadline_ns = now_ns + SCRIPT_STATE_WAIT_NS;
	}
	if (now_ns < s->deadline_ns)
		return false;
	fail(s, "the call did not reach the state within 32 s");
	return true;
}

static bool heard(struct script *s, const char *digits)
{
	const char *found = strstr(s->digits, digits);
	size_t used;

	if (!found)
		return false;
	used = (size_t)(found - s->digits) + strlen(digits);
	s->digit_count -= used;
	memmove(s->digits, s->digits + used, s->digit_count + 1);
	return true;
}

static bool run_dtmf_assert(struct script *s, int64_t now_ns)
{
	struct wire_dtmf_expect expect;
	char text[SCRIPT_DIGITS_MAX + 64];

	/* Checked when the job was decoded. */
	if (wire_dtmf_expect_parse(s->actions[s->next].argument, &expect)) {
		fail(s, "needs digits");
		return true;
	}
	if (heard(s, expect.digits)) {
		done(s);
		return true;
	}
	if (!s->begun) {
		s->begun = true;
		s->deadline_ns =
			now_ns + (expect.has_wait ? expect.wait_ms * NS_PER_MS
						  : SCRIPT_STATE_WAIT_NS);
	}
	if (now_ns < s->deadline_ns)
		return false;
	snprintf(text, sizeof(text), "heard \"%s\" in the time given",
		 s->digits);
	fail(s, text);
	return true;
}

static bool run_reinvite(struct script *s, int (*op)(void *arg))
{
	char text[96];
	int err;

	if (!has_reached(s, UA_CALL_ESTABLISHED))
		return false;
	if (s->begun && s->reinvite_done) {
		done(s);
		return true;
	}
	if (s->begun)
		return false;
	s->begun = true;
	s->reinvite_done = false;
	s->deadline_ns = INT64_MAX;
	err = op(s->arg);
	if (err) {
		snprintf(text, sizeof(text), "could not be sent: %s",
			 strerror(-err));
		fail(s, text);
		return true;
	}
	return false;
}

static bool run_wait(struct script *s, int64_t now_ns)
{
	if (!s->begun) {
		s->begun = true;
		s->deadline_ns = now_ns + argument_ns(&s->actions[s->next]);
	}
	if (now_ns < s->deadline_ns)
		return false;
	done(s);
	return true;
}

static bool run_hangup(struct script *s)
{
	done(s);
	s->over = true;
	s->ops->hangup(s->arg);
	return true;
}

static bool waits_for_call(const struct wire_client_action *a)
{
	if (a->type == WIRE_SCRIPT_OPTIONS)
		return !a->argument[0];
	return a->type == WIRE_SCRIPT_REINVITE ||
	       a->type == WIRE_SCRIPT_TRANSFER ||
	       a->type == WIRE_SCRIPT_TRANSFER_ATTENDED ||
	       a->type == WIRE_SCRIPT_MESSAGE || a->type == WIRE_SCRIPT_DTMF;
}

static bool acts(const struct wire_client_action *a)
{
	return a->type == WIRE_SCRIPT_OPTIONS ||
	       a->type == WIRE_SCRIPT_SNDCODE ||
	       a->type == WIRE_SCRIPT_REJECT ||
	       a->type == WIRE_SCRIPT_REDIRECT ||
	       a->type == WIRE_SCRIPT_UPDATE ||
	       a->type == WIRE_SCRIPT_ASSERT_AUDIO ||
	       a->type == WIRE_SCRIPT_RECORD_START ||
	       a->type == WIRE_SCRIPT_RECORD_STOP ||
	       a->type == WIRE_SCRIPT_PLAY || a->type == WIRE_SCRIPT_MUTE ||
	       a->type == WIRE_SCRIPT_UNMUTE || waits_for_call(a);
}

/* Whether there can be audio: early media, or an established call. */
static bool has_media(const struct script *s)
{
	return has_reached(s, UA_CALL_PROGRESS) ||
	       has_reached(s, UA_CALL_RTPESTAB) ||
	       has_reached(s, UA_CALL_ESTABLISHED);
}

static bool must_wait(const struct script *s,
		      const struct wire_client_action *a)
{
	if (a->type == WIRE_SCRIPT_ASSERT_AUDIO ||
	    a->type == WIRE_SCRIPT_RECORD_START ||
	    a->type == WIRE_SCRIPT_RECORD_STOP || a->type == WIRE_SCRIPT_PLAY)
		return !has_media(s);
	return waits_for_call(a) && !has_reached(s, UA_CALL_ESTABLISHED);
}

static bool run_act(struct script *s)
{
	const struct wire_client_action *a = &s->actions[s->next];
	char text[96];
	int r;

	if (s->begun && s->acted) {
		done(s);
		return true;
	}
	if (s->begun || must_wait(s, a))
		return false;
	s->begun = true;
	s->acted = false;
	s->deadline_ns = INT64_MAX;
	r = s->ops->act(a, s->arg);
	if (r == 1)
		return false;
	if (r == 0) {
		done(s);
		return true;
	}
	snprintf(text, sizeof(text), "could not be sent: %s", strerror(-r));
	fail(s, text);
	return true;
}

static bool run_one(struct script *s, int64_t now_ns)
{
	const struct wire_client_action *a = &s->actions[s->next];

	if (a->type == WIRE_SCRIPT_ASSERT_ESTABLISHED)
		return run_established(s, now_ns);
	if (a->type == WIRE_SCRIPT_ASSERT_STATE)
		return run_state(s, now_ns);
	if (a->type == WIRE_SCRIPT_ASSERT_DTMF)
		return run_dtmf_assert(s, now_ns);
	if (a->type == WIRE_SCRIPT_HOLD)
		return run_reinvite(s, s->ops->hold);
	if (a->type == WIRE_SCRIPT_RESUME)
		return run_reinvite(s, s->ops->resume);
	if (a->type == WIRE_SCRIPT_WAIT)
		return run_wait(s, now_ns);
	if (a->type == WIRE_SCRIPT_HANGUP)
		return run_hangup(s);
	if (acts(a))
		return run_act(s);
	/* wire_job_decode() refuses every other name. */
	fail(s, "is not supported by this version");
	return true;
}

int64_t script_run(struct script *s, int64_t now_ns)
{
	while (!s->over && !s->closed) {
		if (!run_one(s, now_ns))
			return s->begun ? s->deadline_ns : INT64_MAX;
	}
	return INT64_MAX;
}

void script_close(struct script *s)
{
	struct wire_dtmf_expect expect;
	enum ua_state state;

	s->closed = true;
	while (!s->over) {
		const struct wire_client_action *a = &s->actions[s->next];
		bool held = a->type == WIRE_SCRIPT_WAIT ||
			    a->type == WIRE_SCRIPT_HANGUP;

		if (a->type == WIRE_SCRIPT_ASSERT_ESTABLISHED)
			held = has_reached(s, UA_CALL_ESTABLISHED);
		/* The action may be one that waits for the end of the call. */
		if (a->type == WIRE_SCRIPT_ASSERT_STATE &&
		    ua_state_parse(a->argument, &state))
			held = has_reached(s, state);
		if (a->type == WIRE_SCRIPT_ASSERT_DTMF &&
		    wire_dtmf_expect_parse(a->argument, &expect) == 0)
			held = heard(s, expect.digits);
		if ((a->type == WIRE_SCRIPT_HOLD ||
		     a->type == WIRE_SCRIPT_RESUME) &&
		    s->begun)
			held = s->reinvite_done;
		if (acts(a) && s->begun)
			held = s->acted;
		if (held)
			done(s);
		else
			fail(s, "the call ended before it was carried out");
	}
}
