#include "agent/engine/call/call_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define URI_BYTES 512

static uint16_t code_of(const char *text, uint16_t otherwise)
{
	uint64_t code = otherwise;

	/* Checked when the job was decoded. */
	(void)str_to_u64(text, 699, &code);
	return (uint16_t)code;
}

static void ping_answered(const struct sip_request_info *info, void *arg)
{
	struct calls *calls = arg;

	if (info->took_ns)
		report_sample(calls->report, true, MEASURE_sip_options_time,
			      info->mono_ns,
			      (double)info->took_ns / (double)NS_PER_MS);
}

static int transfer(struct call *c, const char *argument)
{
	size_t len = strcspn(argument, " ");
	char uri[URI_BYTES];
	int err;

	snprintf(uri, sizeof(uri), "%.*s", (int)len, argument);
	err = sip_call_transfer(c->sip, uri, argument[len] != '\0');
	return err ? err : 1;
}

/* ---- attended transfer ---- */

/*
 * Attended transfer (RFC 5589 7): the call is put on hold, a second one is
 * placed, and the peer of the first is referred to the peer of the second.
 */

static void consult_ended(struct call *c, const char *refusal)
{
	c->consult.phase = CONSULT_NONE;
	script_acted(&c->script, WIRE_SCRIPT_TRANSFER_ATTENDED, refusal);
}

static int consult_dial(struct call *c)
{
	struct call *second;
	int err = call_place_extra(&second, c, c->consult.uri, NULL);

	if (err)
		return err;
	second->consults_for = c;
	c->consult.second = second;
	c->consult.phase = CONSULT_CALLING;
	return 1;
}

static int consult_start(struct call *c, const char *uri)
{
	int err;

	if (c->consult.second || c->consult.phase != CONSULT_NONE)
		return -EBUSY;
	err = str_copy(c->consult.uri, sizeof(c->consult.uri), uri);
	if (err)
		return err;
	err = sip_call_hold(c->sip);
	if (err == -EALREADY)
		return consult_dial(c);
	if (err)
		return err;
	c->consult.holds = true;
	c->consult.phase = CONSULT_HOLDING;
	return 1;
}

static int consult_execute(struct call *c)
{
	struct call *second = c->consult.second;
	int err;

	if (!second || !second->sip || second->closed)
		return -ENOTCONN;
	err = sip_call_transfer_attended(c->sip, second->sip);
	if (err)
		return err;
	c->consult.phase = CONSULT_REFERRING;
	return 1;
}

static int consult_abort(struct call *c)
{
	int err;

	if (c->consult.second)
		call_end(c->consult.second);
	if (!c->consult.holds)
		return 0;
	c->consult.holds = false;
	err = sip_call_resume(c->sip);
	if (err)
		return err == -EALREADY ? 0 : err;
	c->consult.phase = CONSULT_RESUMING;
	return 1;
}

static int attended_transfer_do(struct call *c, const char *argument)
{
	if (strncmp(argument, "start ", 6) == 0)
		return consult_start(c, argument + 6);
	return strcmp(argument, "exec") == 0 ? consult_execute(c)
					     : consult_abort(c);
}

void attended_transfer_reinvited(struct call *c, const char *refusal)
{
	enum consult_phase phase = c->consult.phase;
	char text[256];
	int err;

	if (phase != CONSULT_HOLDING && phase != CONSULT_RESUMING)
		return;
	if (refusal) {
		snprintf(text, sizeof(text), "its %s %s",
			 phase == CONSULT_HOLDING ? "hold" : "resume", refusal);
		c->consult.holds = false;
		consult_ended(c, text);
	} else if (phase == CONSULT_RESUMING) {
		consult_ended(c, NULL);
	} else {
		err = consult_dial(c);
		if (err < 0) {
			snprintf(text, sizeof(text),
				 "its call could not be placed: %s",
				 strerror(-err));
			consult_ended(c, text);
		}
	}
}

static void attended_transfer_transferred(struct call *c, const char *refusal)
{
	if (c->consult.phase != CONSULT_REFERRING)
		return;
	c->consult.done = !refusal;
	consult_ended(c, refusal);
}

void attended_transfer_established(struct call *second)
{
	struct call *c = second->consults_for;

	if (!c || c->consult.phase != CONSULT_CALLING)
		return;
	c->consult.phase = CONSULT_NONE;
	script_acted(&c->script, WIRE_SCRIPT_TRANSFER_ATTENDED, NULL);
	call_go_on(c);
}

void attended_transfer_closed(struct call *closed, const char *text)
{
	struct call *c = closed->consults_for;
	char why[320];

	/* End the second call with the first one; once the REFER was
	 * sent, its peer ends it. */
	if (closed->consult.second &&
	    closed->consult.phase != CONSULT_REFERRING && !closed->consult.done)
		call_end(closed->consult.second);
	if (!c)
		return;
	c->consult.second = NULL;
	closed->consults_for = NULL;
	if (c->consult.phase != CONSULT_CALLING)
		return;
	snprintf(why, sizeof(why), "its call was not established: %s",
		 text ? text : "it ended");
	consult_ended(c, why);
	call_go_on(c);
}

/* ---- the actions ---- */

/* An encrypted call gets new keys with it (RFC 4568 section 7.1.4). */
static int reinvite(struct call *c)
{
	int err = call_security_rekey(c);

	return err ? err : sip_call_reinvite(c->sip);
}

static int refuse(struct call *c, const struct wire_client_action *a)
{
	c->refusal_asked = true;
	if (a->type == WIRE_SCRIPT_REJECT)
		return sip_call_reject(c->sip, code_of(a->argument, 603), NULL);
	return sip_call_redirect(c->sip, 302, a->argument);
}

int script_actions_do(const struct wire_client_action *a, void *arg)
{
	struct call *c = arg;
	int err;

	if (a->type == WIRE_SCRIPT_REJECT || a->type == WIRE_SCRIPT_REDIRECT)
		return refuse(c, a);
	if (a->type == WIRE_SCRIPT_SNDCODE)
		return sip_call_progress(c->sip, code_of(a->argument, 180),
					 NULL);
	if (a->type == WIRE_SCRIPT_DTMF)
		return call_dtmf_send(c, a->argument);
	if (a->type == WIRE_SCRIPT_RECORD_START)
		return call_record_begin(c);
	if (a->type == WIRE_SCRIPT_RECORD_STOP)
		return call_record_end(c);
	if (a->type == WIRE_SCRIPT_ASSERT_AUDIO)
		return call_audio_assert(c, a->argument);
	if (a->type == WIRE_SCRIPT_PLAY)
		return call_audio_play(c, a->argument);
	if (a->type == WIRE_SCRIPT_MUTE || a->type == WIRE_SCRIPT_UNMUTE)
		return call_audio_mute(c, a->type == WIRE_SCRIPT_MUTE);
	if (a->type == WIRE_SCRIPT_TRANSFER)
		return transfer(c, a->argument);
	if (a->type == WIRE_SCRIPT_TRANSFER_ATTENDED)
		return attended_transfer_do(c, a->argument);
	/* OPTIONS to another URI: its answer does not affect this call. */
	if (a->type == WIRE_SCRIPT_OPTIONS && a->argument[0])
		return sip_account_request(account_sip(c->origin), "OPTIONS",
					   a->argument, NULL, NULL,
					   ping_answered, c->calls);
	if (a->type == WIRE_SCRIPT_OPTIONS)
		err = sip_call_request(c->sip, "OPTIONS", NULL, NULL);
	else if (a->type == WIRE_SCRIPT_MESSAGE)
		err = sip_call_request(c->sip, "MESSAGE",
				       "text/plain;charset=UTF-8", a->argument);
	else if (a->type == WIRE_SCRIPT_REINVITE)
		err = reinvite(c);
	else if (a->type == WIRE_SCRIPT_UPDATE)
		err = sip_call_update(c->sip);
	else
		err = -ENOSYS;
	return err ? err : 1;
}

bool script_actions_refuses(const struct wire_action *action)
{
	for (size_t i = 0; i < action->client_action_count; i++) {
		if (action->client_actions[i].type == WIRE_SCRIPT_REJECT ||
		    action->client_actions[i].type == WIRE_SCRIPT_REDIRECT)
			return true;
	}
	return false;
}

/* The script action that sends a request of this method.
 * @return 0; -ENOENT: none does */
static int action_of_method(enum wire_script_action *ret, const char *method)
{
	static const struct {
		const char *method;
		enum wire_script_action action;
	} methods[] = {
		{"MESSAGE", WIRE_SCRIPT_MESSAGE},
		{"OPTIONS", WIRE_SCRIPT_OPTIONS},
		{"UPDATE", WIRE_SCRIPT_UPDATE},
		{"INFO", WIRE_SCRIPT_DTMF},
		/* commands to a client with media of its own */
		{"DTMF", WIRE_SCRIPT_DTMF},
		{"PLAY", WIRE_SCRIPT_PLAY},
		{"MUTE", WIRE_SCRIPT_MUTE},
		{"UNMUTE", WIRE_SCRIPT_UNMUTE},
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(methods[i].method, method) == 0) {
			*ret = methods[i].action;
			return 0;
		}
	}
	return -ENOENT;
}

static void transfer_answered(struct call *c, bool good, const char *refusal)
{
	attended_transfer_transferred(c, good ? NULL : refusal);
	script_acted(&c->script, WIRE_SCRIPT_TRANSFER, good ? NULL : refusal);
}

void script_actions_answered(struct call *c, enum sip_call_event event,
			     const struct sip_call_info *info, const char *text)
{
	bool good = info->code >= 200 && info->code < 300;
	enum wire_script_action action;
	char refusal[256];

	snprintf(refusal, sizeof(refusal), "was refused: %s",
		 text ? text : "no answer");
	if (event == SIP_CALL_REINVITED) {
		script_acted(&c->script, WIRE_SCRIPT_REINVITE,
			     good ? NULL : refusal);
	} else if (event == SIP_CALL_TRANSFERRED) {
		call_state(c, info->mono_ns, UA_CALL_TRANSFER, text);
		transfer_answered(c, good, refusal);
	} else if (event == SIP_CALL_TRANSFER_FAIL) {
		call_state(c, info->mono_ns, UA_CALL_TRANSFER_FAILED, text);
		transfer_answered(c, false, refusal);
	} else if (action_of_method(&action, info->method) == 0) {
		if (action == WIRE_SCRIPT_DTMF)
			call_dtmf_answered(c, good ? NULL : refusal);
		else
			script_acted(&c->script, action, good ? NULL : refusal);
	}
}

void script_actions_referred(struct call *c, const struct sip_call_info *info)
{
	struct call *placed;
	int err = -ECANCELED;

	call_state(c, info->mono_ns, UA_REFER, info->target);
	call_state(c, info->mono_ns, UA_CALL_TRANSFER, info->target);
	if (!report_ended(c->calls->report))
		err = call_place_extra(&placed, c, info->target,
				       info->replaces);
	if (!err) {
		placed->referrer = c;
		list_append(&c->referred, &placed->le_referred, placed);
	}
	if (err == -EINVAL)
		sip_call_refer_progress(c->sip, 416, "Unsupported URI Scheme");
	else if (err)
		sip_call_refer_progress(c->sip, 503, "Service Unavailable");
}

void calls_referred(struct calls *calls, struct account *account,
		    struct sip_referral *referral,
		    const struct sip_refer_info *info)
{
	const struct wire_action *action = account_answers(account);
	struct call *placed;
	int err = -ECANCELED;

	report_state(calls->report, info->mono_ns, UA_REFER,
		     account_name(account), NULL, info->target);
	if (action && !report_ended(calls->report))
		err = call_place_referred(&placed, calls, action, account,
					  info);
	if (!err) {
		placed->referral = referral;
		return;
	}
	if (err == -EINVAL)
		sip_referral_progress(referral, 416, "Unsupported URI Scheme");
	else
		sip_referral_progress(referral, 503, "Service Unavailable");
	sip_referral_free(referral);
}

void script_actions_progress(struct call *c, uint16_t code, const char *reason)
{
	struct call *referrer = c->referrer;

	if (c->referral)
		sip_referral_progress(c->referral, code, reason);
	if (!referrer || referrer->closed || !referrer->sip)
		return;
	/* -EALREADY after the final response is no error */
	sip_call_refer_progress(referrer->sip, code, reason);
}

/* ---- the script's view of the call ---- */

static int op_hold(void *arg)
{
	struct call *c = arg;

	return sip_call_hold(c->sip);
}

static int op_resume(void *arg)
{
	struct call *c = arg;

	return sip_call_resume(c->sip);
}

static void op_hangup(void *arg)
{
	struct call *c = arg;

	/* Before the answer this refuses an incoming call with 603. */
	c->refusal_asked = true;
	call_end(c);
}

static void op_failed(const struct wire_client_action *action, const char *text,
		      void *arg)
{
	struct call *c = arg;
	struct calls *calls = c->calls;

	report_event(calls->report,
		     wire_event_assert(
			     report_time(calls->report, clock_mono_ns()),
			     c->name, wire_script_action_name(action->type),
			     action->argument, text));
}

const struct script_ops call_script_ops = {
	.hold = op_hold,
	.resume = op_resume,
	.hangup = op_hangup,
	.act = script_actions_do,
	.failed = op_failed,
};
