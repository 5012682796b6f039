#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void duration_over(void *arg)
{
	struct call *c = arg;
	int64_t end_ns = call_end_ns(c);
	int64_t now_ns = clock_mono_ns();

	/* Media may have begun after the call: call_end_ns() is later then. */
	if (now_ns < end_ns)
		mono_timer_start(&c->tmr_duration,
				 call_ms_until(end_ns, now_ns), duration_over,
				 c);
	else
		call_hangup(c);
}

static void pdd_sample(struct call *c, int64_t mono_ns)
{
	if (c->outgoing && c->invite_ns && !c->first_18x_ns && !c->answered_ns)
		report_sample(c->engine->report, true, MEASURE_sip_pdd, mono_ns,
			      (double)(mono_ns - c->invite_ns) /
				      (double)NS_PER_MS);
}

static void on_provisional(struct call *c, int64_t mono_ns)
{
	pdd_sample(c, mono_ns);
	if (!c->first_18x_ns)
		c->first_18x_ns = mono_ns;
}

static void on_answered(struct call *c, int64_t mono_ns)
{
	if (c->answered_ns)
		return;
	pdd_sample(c, mono_ns);
	c->answered_ns = mono_ns;
	if (c->outgoing && c->invite_ns)
		report_sample(c->engine->report, true,
			      MEASURE_sip_invite_200_time, mono_ns,
			      (double)(mono_ns - c->invite_ns) /
				      (double)NS_PER_MS);
}

void call_is_up(struct call *c, int64_t mono_ns)
{
	if (c->established_ns)
		return;
	c->established_ns = mono_ns;
	call_media_deadline(c);
	if (c->duration_ns != INT64_MAX)
		mono_timer_start(&c->tmr_duration,
				 call_ms_until(mono_ns + c->duration_ns,
					       clock_mono_ns()),
				 duration_over, c);
	call_state(c, mono_ns, UA_CALL_ESTABLISHED, NULL);
	call_media_established(c);
}

static enum ua_state end_state(const struct sip_call_info *info)
{
	switch (info->end) {
	case SIP_END_LOCAL:
		return UA_CALL_ENDED_LOCAL;
	case SIP_END_REMOTE:
		return UA_CALL_ENDED_REMOTE;
	case SIP_END_REJECTED:
		return UA_CALL_REJECTED;
	case SIP_END_CANCELLED:
		return info->local ? UA_CALL_ENDED_LOCAL : UA_CALL_ENDED_REMOTE;
	case SIP_END_FAILED:
		break;
	}
	return UA_CALL_FAILED;
}

static void bye_sample(struct call *c, const struct sip_call_info *info)
{
	if (info->bye_ok_ns)
		report_sample(c->engine->report, true, MEASURE_sip_bye_200_time,
			      info->bye_ok_ns,
			      (double)(info->bye_ok_ns - info->mono_ns) /
				      (double)NS_PER_MS);
}

void call_finish_soon(struct call *c)
{
	if (c->closed && c->media_stopped)
		mono_timer_start(&c->tmr_finish, 0, call_finish, c);
}

/* However the peer took the end of a call that we gave up. */
static struct sip_call_info given_up(const struct call *c,
				     const struct sip_call_info *info)
{
	struct sip_call_info own = *info;

	own.local = true;
	own.end = SIP_END_FAILED;
	own.code = 0;
	own.reason = c->failure;
	own.warning = NULL;
	return own;
}

void call_closed(struct call *c, const struct sip_call_info *told,
		 const char *text)
{
	const struct sip_call_info own = given_up(c, told);
	const struct sip_call_info *info = c->failure[0] ? &own : told;

	if (c->failure[0])
		text = c->failure;
	c->closed = true;
	c->peer = strdup(c->sip ? sip_call_peer(c->sip) : c->dial_uri);
	c->call_id = c->sip ? strdup(sip_call_id(c->sip)) : NULL;
	c->closed_ns = info->mono_ns;
	c->end = info->end;
	c->code = info->code;
	snprintf(c->reason, sizeof(c->reason), "%s", info->reason);
	snprintf(c->warning, sizeof(c->warning), "%s",
		 info->warning ? info->warning : "");
	c->engine->calls_up[c->outgoing]--;
	mono_timer_cancel(&c->tmr_script);
	mono_timer_cancel(&c->tmr_duration);
	mono_timer_cancel(&c->tmr_answer);
	call_media_closed(c);
	if (info->end == SIP_END_REJECTED && info->code / 100 == 3)
		call_state(c, info->mono_ns, UA_CALL_REDIRECT, text);
	call_state(c, info->mono_ns, end_state(info), text);
	call_state(c, info->mono_ns, UA_CALL_CLOSED, NULL);
	bye_sample(c, info);
	script_close(&c->script);
	attended_transfer_closed(c, text);
	script_actions_progress(c, info->code >= 300 ? info->code : 503,
				info->code >= 300 ? info->reason
						  : "Service Unavailable");
	if (c->media_applied)
		media_session_stop(c->media);
	else
		c->media_stopped = true;
	if (c->outgoing) {
		action_call_closed(c->engine);
	} else {
		c->engine->calls_ended++;
		steps_call_ended(c->engine);
	}
	call_finish_soon(c);
}

static void on_reinvite(struct call *c, const struct sip_call_info *info,
			enum ua_state state)
{
	call_state(c, info->mono_ns, state, info->local ? "local" : "remote");
	if (!info->local)
		return;
	script_reinvite(&c->script, NULL);
	attended_transfer_reinvited(c, NULL);
}

static void on_reinvite_refused(struct call *c, const char *text)
{
	char refusal[256];

	snprintf(refusal, sizeof(refusal), "was refused: %s",
		 text ? text : "no answer");
	script_reinvite(&c->script, refusal);
	attended_transfer_reinvited(c, refusal);
	script_acted(&c->script, WIRE_SCRIPT_REINVITE, refusal);
}

void call_handler(struct sip_call *sip, enum sip_call_event event,
		  const struct sip_call_info *info, void *arg)
{
	struct call *c = arg;
	int64_t at = info->mono_ns;
	char line[224] = "";
	const char *text = info->reason;

	(void)sip;
	if (info->code) {
		snprintf(line, sizeof(line), "%u %s", info->code, info->reason);
		text = line;
	}
	if (text && !text[0])
		text = NULL;
	if (info->client_rtp)
		call_media_tap(c, info);
	if (info->media)
		call_media_apply(c, info->media, at);
	switch (event) {
	case SIP_CALL_OUTGOING:
		c->invite_ns = at;
		call_state(c, at, UA_CALL_OUTGOING, NULL);
		break;
	case SIP_CALL_RINGING:
		on_provisional(c, at);
		call_state(c, at, UA_CALL_RINGING, text);
		script_actions_progress(c, info->code, info->reason);
		break;
	case SIP_CALL_PROGRESS:
		on_provisional(c, at);
		call_state(c, at, UA_CALL_PROGRESS, text);
		break;
	case SIP_CALL_ANSWERED:
		on_answered(c, at);
		call_state(c, at, UA_CALL_ANSWERED, text);
		script_actions_progress(c, info->code, info->reason);
		break;
	case SIP_CALL_ESTABLISHED:
		call_is_up(c, at);
		attended_transfer_established(c);
		break;
	case SIP_CALL_SECURED:
		call_security_client(c, info);
		break;
	case SIP_CALL_LOCAL_SDP:
		call_state(c, at, UA_CALL_LOCAL_SDP, NULL);
		break;
	case SIP_CALL_REMOTE_SDP:
		call_state(c, at, UA_CALL_REMOTE_SDP, NULL);
		break;
	case SIP_CALL_HELD:
		on_reinvite(c, info, UA_CALL_HOLD);
		break;
	case SIP_CALL_RESUMED:
		on_reinvite(c, info, UA_CALL_RESUME);
		break;
	case SIP_CALL_REINVITE_FAIL:
		on_reinvite_refused(c, text);
		break;
	case SIP_CALL_REINVITED:
	case SIP_CALL_ANSWER_TO:
	case SIP_CALL_TRANSFERRED:
	case SIP_CALL_TRANSFER_FAIL:
		script_actions_answered(c, event, info, text);
		break;
	case SIP_CALL_DTMF:
		call_dtmf_info(c, info);
		break;
	case SIP_CALL_REDIRECTED:
		call_state(c, at, UA_CALL_REDIRECT, info->target);
		break;
	case SIP_CALL_REFERRED:
		script_actions_referred(c, info);
		break;
	case SIP_CALL_CLOSED:
		call_closed(c, info, text);
		return;
	}
	call_go_on(c);
}
