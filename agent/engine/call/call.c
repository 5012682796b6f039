#include "agent/engine/call/call_internal.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream has at most 16 sources, of some 300 bytes each. */
#define STREAM_BYTES_MAX ((size_t)64 << 10)
#define STATE_TEXT_BYTES 224 /* of a state: "486 Busy Here" */

static void unlist(struct call *c)
{
	if (c->le.list)
		c->calls->listed--;
	list_unlink(&c->le);
}

/* Clear the pointers of other calls to it. */
static void forget(struct call *c)
{
	struct le *le;

	while ((le = list_head(&c->referred))) {
		((struct call *)le->data)->referrer = NULL;
		list_unlink(le);
	}
	list_unlink(&c->le_referred);
	if (c->consults_for)
		c->consults_for->consult.second = NULL;
	if (c->consult.second)
		c->consult.second->consults_for = NULL;
}

void call_release(struct call *c)
{
	forget(c);
	unlist(c);
	mono_timer_cancel(&c->tmr_script);
	mono_timer_cancel(&c->tmr_duration);
	mono_timer_cancel(&c->tmr_answer);
	mono_timer_cancel(&c->tmr_finish);
	mono_timer_cancel(&c->info_dtmf.tmr);
	mono_timer_cancel(&c->listening.tmr);
	if (c->media)
		media_session_free(c->media);
	if (c->sip)
		sip_call_free(c->sip);
	sip_referral_free(c->referral);
	buf_release(&c->streams[0]);
	buf_release(&c->streams[1]);
	buf_release(&c->sources);
	json_decref(c->audio[0]);
	json_decref(c->audio[1]);
	json_decref(c->path);
	free(c->filled);
	free(c->dial_uri);
	free(c->dial_replaces);
	free(c->peer);
	free(c->call_id);
	free(c);
}

struct call *call_make(struct calls *calls, const struct wire_action *action,
		       struct account *account, bool outgoing)
{
	char number[STR_DECIMAL_BYTES];
	struct call *c = calloc(1, sizeof(*c));
	bool endless = action->type == WIRE_ACTION_ANSWER &&
		       action->duration.kind == WIRE_DURATION_FIXED &&
		       action->duration.a_s == 0;

	if (!c)
		return NULL;
	buf_init(&c->streams[0], STREAM_BYTES_MAX);
	buf_init(&c->streams[1], STREAM_BYTES_MAX);
	buf_init(&c->sources, STREAM_BYTES_MAX);
	c->calls = calls;
	c->action = action;
	c->outgoing = outgoing;
	c->origin = account;
	str_join(c->name, sizeof(c->name), calls->job->role, "-",
		 str_decimal(number, wire_share_number(&calls->settings->share,
						       calls->count++) +
					     1),
		 NULL);
	(void)str_copy(c->account, sizeof(c->account),
		       account ? account_name(account) : "");
	c->duration_ns =
		endless ? INT64_MAX
			: duration_draw_ns(&calls->draw, &action->duration);
	script_init(&c->script, action->client_actions,
		    action->client_action_count, &call_script_ops, c);
	return c;
}

void call_unmake(struct call *c)
{
	c->calls->count--;
	call_release(c);
}

void call_fault(struct call *c, const char *what, int err)
{
	struct calls *calls = c->calls;
	const char *why = strerror(-err);

	if (err == -EADDRINUSE)
		why = c->action->stream.local_port
			      ? "its local_port or the next one is in use"
			      : "no port of the RTP range is free";
	if (err == -EMFILE)
		why = "too many open files: raise the agent's LimitNOFILE, or "
		      "lower max_concurrent_calls";
	if (err == -EUSERS)
		why = "4096 connections to TURN servers are open, the most of "
		      "an engine, two a call: lower max_concurrent_calls, "
		      "raise agents or engines, or set turn_transport to udp";
	report_end_job(calls->report, "error", "role %s: call %s%s%s: %s: %s",
		       calls->job->role, c->name, c->account[0] ? " of " : "",
		       c->account, what, why);
}

void call_begun(struct call *c)
{
	struct calls *calls = c->calls;

	list_append(&calls->list, &c->le, c);
	calls->listed++;
	calls->up[c->outgoing]++;
	if (calls->up[0] + calls->up[1] > calls->up_most)
		calls->up_most = calls->up[0] + calls->up[1];
	calls->begun[c->outgoing]++;
}

void call_ready(struct call *c)
{
	int err = 0;

	if (c->progress_waits)
		sip_call_progress(c->sip, 183, media_session_local(c->media));
	c->progress_waits = false;
	if (c->answer_waits) {
		c->answer_waits = false;
		call_answer_due(c);
	} else if (c->dial_uri && !c->sip) {
		err = call_setup_dial(c);
	}
	if (err)
		call_give_up(c, strerror(-err));
	else
		call_go_on(c);
}

static void call_report(struct call *c)
{
	static const char *const ends[] = {
		[SIP_END_LOCAL] = "local",
		[SIP_END_REMOTE] = "remote",
		[SIP_END_REJECTED] = "rejected",
		[SIP_END_CANCELLED] = "cancelled",
		[SIP_END_FAILED] = "failed",
	};
	static const char *const encryptions[] = {
		[WIRE_ENCRYPTION_NONE] = NULL,
		[WIRE_ENCRYPTION_SDES] = "sdes",
		[WIRE_ENCRYPTION_SDES_MANDATORY] = "sdes-mandatory",
		[WIRE_ENCRYPTION_DTLS] = "dtls",
	};
	struct calls *calls = c->calls;
	int64_t first_ns = c->first_18x_ns ? c->first_18x_ns : c->answered_ns;
	const struct wire_event_call event = {
		.call = c->name,
		.account = c->account,
		.outgoing = c->outgoing,
		.placed_for = c->placed_for[0] ? c->placed_for : NULL,
		.peer = c->peer,
		.call_id = c->call_id,
		.established = c->established_ns != 0,
		.has_pdd = c->outgoing && c->invite_ns && first_ns,
		.pdd_ms = (double)(first_ns - c->invite_ns) / (double)NS_PER_MS,
		.has_setup = c->invite_ns && c->answered_ns,
		.setup_ms = (double)(c->answered_ns - c->invite_ns) /
			    (double)NS_PER_MS,
		.has_duration = c->established_ns && c->closed_ns,
		.duration_ms = (double)(c->closed_ns - c->established_ns) /
			       (double)NS_PER_MS,
		.end = ends[c->end],
		.expected_end = call_ended_as_asked(c),
		.code = c->code,
		.reason = c->reason,
		.warning = c->warning[0] ? c->warning : NULL,
		.codecs = c->action->codecs,
		.codec_count = c->action->codec_count,
		.encryption = encryptions[c->action->encryption],
		.streams = {c->streams[0], c->streams[1]},
		.audio = {c->audio[0], c->audio[1]},
		.path = c->path,
	};
	struct writer w = report_begin(calls->report);

	wire_event_call(&w, report_time(calls->report, clock_mono_ns()),
			&event);
	report_end(calls->report, OUTBOX_EVENTS, &w);
	if (!w.err)
		call_record_figures(c, w.buf->data, w.buf->used);
}

/* A call or stream action placed it, not the script of a call or a REFER. */
static bool is_generated(const struct call *c)
{
	return c->outgoing && !c->placed_for[0];
}

void call_finish(void *arg)
{
	struct call *c = arg;
	struct calls *calls = c->calls;
	bool generated = is_generated(c);

	call_report(c);
	call_release(c);
	calls->handlers.ended_h(generated, calls->arg);
}

static void stream_end(struct call *c)
{
	const struct sip_call_info info = {
		.mono_ns = clock_mono_ns(),
		.local = true,
		.reason = "the stream was ended",
		.end = SIP_END_LOCAL,
	};

	c->hangup_ns = info.mono_ns;
	call_closed(c, &info, NULL);
}

void call_end(struct call *c)
{
	if (c->closed || c->hangup_ns)
		return;
	if (c->action->type == WIRE_ACTION_STREAM) {
		stream_end(c);
		return;
	}
	if (!c->sip) {
		call_give_up(c, "ended before it was dialled");
		return;
	}
	c->hangup_ns = clock_mono_ns();
	mono_timer_cancel(&c->tmr_duration);
	mono_timer_cancel(&c->tmr_answer);
	sip_call_hangup(c->sip);
}

bool call_ended_as_asked(const struct call *c)
{
	/* its scenario judges how a call may end: SIPp reports what it did not expect */
	if (c->action->client == WIRE_CLIENT_SIPP)
		return c->end != SIP_END_FAILED;
	switch (c->end) {
	case SIP_END_LOCAL:
	case SIP_END_REMOTE:
		/* e.g. a BYE came instead of the ACK */
		return c->established_ns != 0;
	case SIP_END_REJECTED:
		return !c->outgoing &&
		       (c->refusal_asked || c->action->ring_only);
	case SIP_END_CANCELLED:
		return !c->outgoing && c->action->ring_only;
	case SIP_END_FAILED:
		break;
	}
	return false;
}

void call_give_up(struct call *c, const char *reason)
{
	const struct sip_call_info info = {
		.mono_ns = clock_mono_ns(),
		.local = true,
		.reason = reason,
		.end = SIP_END_FAILED,
	};

	if (!c->sip) {
		call_closed(c, &info, reason);
		return;
	}
	if (!c->closed && !c->hangup_ns && !c->failure[0])
		(void)str_print(c->failure, sizeof(c->failure), "%s", reason);
	call_end(c);
}

void call_overdue(struct call *c)
{
	static const struct sip_call_info info = {
		.end = SIP_END_FAILED,
		.reason = "the dialog did not end in time",
	};
	struct sip_call_info now = info;

	if (c->closed)
		return; /* MEDIA_RECORD_STOPPED follows */
	now.mono_ns = clock_mono_ns();
	call_closed(c, &now, info.reason);
	/* The user agent may continue the dialog; it reports nothing. */
	c->sip = sip_call_free(c->sip);
}

void call_abandon(struct call *c)
{
	c->calls->abandoned = true;
	call_report(c);
	unlist(c);
}

/* ---- what the user agent reports ---- */

static void duration_over(void *arg)
{
	struct call *c = arg;
	int64_t end_ns = call_planned_end_ns(c);
	int64_t now_ns = clock_mono_ns();

	/* If media began after the call, call_planned_end_ns() is later. */
	if (now_ns < end_ns)
		mono_timer_start(&c->tmr_duration,
				 clock_ms_until(end_ns, now_ns), duration_over,
				 c);
	else
		call_end(c);
}

static void pdd_sample(struct call *c, int64_t mono_ns)
{
	if (c->outgoing && c->invite_ns && !c->first_18x_ns && !c->answered_ns)
		report_sample(c->calls->report, true, MEASURE_sip_pdd, mono_ns,
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
		report_sample(c->calls->report, true,
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
				 clock_ms_until(mono_ns + c->duration_ns,
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
		report_sample(c->calls->report, true, MEASURE_sip_bye_200_time,
			      info->bye_ok_ns,
			      (double)(info->bye_ok_ns - info->mono_ns) /
				      (double)NS_PER_MS);
}

void call_finish_soon(struct call *c)
{
	if (c->closed && c->media_stopped)
		mono_timer_start(&c->tmr_finish, 0, call_finish, c);
}

/* The end of a call that we gave up, whatever the peer answered. */
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
	str_join(c->reason, sizeof(c->reason), info->reason, NULL);
	str_join(c->warning, sizeof(c->warning),
		 info->warning ? info->warning : "", NULL);
	c->calls->up[c->outgoing]--;
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
	if (is_generated(c) || !c->outgoing)
		c->calls->handlers.closed_h(c->outgoing, c->calls->arg);
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

/* What media_session_apply() says of shared sockets. */
static const char *apply_problem(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "another call has the peer's RTP address, and media_path "
		       "shared tells them apart only if both descriptions "
		       "announce their SSRC (a=ssrc)";
	case -EEXIST:
		return "another call of the peer announces the same SSRC, which "
		       "media_path shared cannot tell apart";
	default:
		return strerror(-err);
	}
}

void call_apply(struct call *c, const struct media_negotiated *negotiated,
		int64_t at_ns)
{
	int err = call_media_apply(c, negotiated, at_ns);
	char reason[256];

	if (!err)
		return;
	snprintf(reason, sizeof(reason),
		 "its media cannot be sent as the peer's SDP asks: %s",
		 apply_problem(err));
	call_give_up(c, reason);
}

/* @param line  holds the text where a response has a code
 * @return of the state's event; NULL: none */
static const char *state_text(char line[static STATE_TEXT_BYTES],
			      const struct sip_call_info *info)
{
	char code[STR_DECIMAL_BYTES];

	if (!info->code)
		return info->reason[0] ? info->reason : NULL;
	str_join(line, STATE_TEXT_BYTES, str_decimal(code, info->code), " ",
		 info->reason, NULL);
	return line;
}

void call_handler(struct sip_call *sip, enum sip_call_event event,
		  const struct sip_call_info *info, void *arg)
{
	struct call *c = arg;
	int64_t at = info->mono_ns;
	char line[STATE_TEXT_BYTES];
	const char *text = state_text(line, info);

	(void)sip;
	if (info->client_rtp)
		call_media_tap(c, info);
	if (info->media)
		call_apply(c, info->media, at);
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
	case SIP_CALL_NEW_KEY:
		call_security_expect_key(c);
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

/* ---- what the media engine reports ---- */

static void gathered(struct call *c, const struct media_record *record)
{
	char reason[CALL_REASON_BYTES];

	if (c->closed)
		return;
	if (call_nat_gathered(c, record, reason))
		call_ready(c);
	else
		call_give_up(c, reason);
}

static void path_known(struct call *c, const struct media_record *record)
{
	call_nat_path(c, record);
	if (record->u.path->reason && !c->closed)
		call_give_up(c, record->u.path->reason);
}

/* The peer's SDP named an address that this host may not send to. */
static void media_unreachable(struct call *c, const struct media_record *record)
{
	char reason[192];

	if (c->closed)
		return;
	snprintf(reason, sizeof(reason),
		 "%s cannot be sent to the address that the peer's SDP names: "
		 "%s; see the firewall and the routes of this host",
		 record->u.unreachable.rtcp ? "RTCP" : "RTP",
		 strerror(-record->u.unreachable.err));
	call_give_up(c, reason);
}

void calls_media_record(const struct media_record *record, void *arg)
{
	struct call *c = media_session_user(record->session);
	char reason[CALL_REASON_BYTES];

	(void)arg;
	switch (record->kind) {
	case MEDIA_RECORD_SECOND:
		report_stream_second(c->calls->report, record->outgoing,
				     &record->u.second);
		break;
	case MEDIA_RECORD_SOURCE:
	case MEDIA_RECORD_TOTAL:
		call_media_figures(c, record);
		break;
	case MEDIA_RECORD_FIRST_RTP:
	case MEDIA_RECORD_RTCP:
		call_media_first(c, record);
		call_go_on(c);
		break;
	case MEDIA_RECORD_DTMF:
		call_dtmf_media(c, record);
		call_go_on(c);
		break;
	case MEDIA_RECORD_PLAYED:
		call_audio_played(c, record);
		break;
	case MEDIA_RECORD_SECURED:
		if (!call_security_dtls(c, record, reason))
			call_give_up(c, reason);
		call_go_on(c);
		break;
	case MEDIA_RECORD_AUDIO_SECOND:
	case MEDIA_RECORD_AUDIO_TOTAL:
		call_audio_record(c, record);
		break;
	case MEDIA_RECORD_RECORDED:
		call_recorded(c, record);
		break;
	case MEDIA_RECORD_HEARD:
		call_audio_record(c, record);
		call_go_on(c);
		break;
	case MEDIA_RECORD_GATHERED:
		gathered(c, record);
		break;
	case MEDIA_RECORD_PATH:
		path_known(c, record);
		break;
	case MEDIA_RECORD_UNREACHABLE:
		media_unreachable(c, record);
		break;
	case MEDIA_RECORD_STOPPED:
		c->media_stopped = true;
		call_finish_soon(c);
		break;
	}
}
