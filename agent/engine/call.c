#include "agent/engine/internal.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void script_go_on(struct call *c);
static void call_finish(void *arg);

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
	call_hangup(arg);
}

static void op_failed(const struct wire_client_action *action, const char *text,
		      void *arg)
{
	struct call *c = arg;
	struct engine *e = c->engine;

	report_event(e,
		     wire_event_assert(report_time(e, clock_mono_ns()), c->name,
				       action->name, action->argument, text));
}

static const struct script_ops script_ops = {
	.hold = op_hold,
	.resume = op_resume,
	.hangup = op_hangup,
	.act = acting_do,
	.failed = op_failed,
};

static uint64_t ms_until(int64_t at_ns, int64_t now_ns)
{
	return at_ns > now_ns ? (uint64_t)((at_ns - now_ns + NS_PER_MS - 1) /
					   NS_PER_MS)
			      : 0;
}

static void script_due(void *arg)
{
	script_go_on(arg);
}

static void script_go_on(struct call *c)
{
	int64_t now_ns = clock_mono_ns();
	int64_t at_ns;

	if (c->closed)
		return;
	at_ns = script_run(&c->script, now_ns);
	if (at_ns == INT64_MAX)
		tmr_cancel(&c->tmr_script);
	else
		tmr_start(&c->tmr_script, ms_until(at_ns, now_ns), script_due,
			  c);
}

void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text)
{
	report_state(c->engine, mono_ns, state, c->account, c->name, text);
	script_state(&c->script, state);
}

/* ---- making and releasing ---- */

static void call_release(struct call *c)
{
	struct le *le;

	LIST_FOREACH(&c->engine->calls, le)
	{
		struct call *other = le->data;

		if (other->referrer == c)
			other->referrer = NULL;
	}
	list_unlink(&c->le);
	tmr_cancel(&c->tmr_script);
	tmr_cancel(&c->tmr_duration);
	tmr_cancel(&c->tmr_answer);
	tmr_cancel(&c->tmr_finish);
	if (c->media)
		media_session_free(c->media);
	if (c->sip)
		sip_call_free(c->sip);
	json_decref(c->streams);
	free(c->peer);
	free(c->call_id);
	free(c);
}

static struct call *call_new(struct engine *e, const struct wire_action *action,
			     struct account *account, bool outgoing)
{
	struct call *c = calloc(1, sizeof(*c));
	bool endless = action->type == WIRE_ACTION_ANSWER &&
		       action->duration.kind == WIRE_DURATION_FIXED &&
		       action->duration.a_s == 0;

	if (!c)
		return NULL;
	c->streams = json_array();
	if (!c->streams) {
		free(c);
		return NULL;
	}
	c->engine = e;
	c->action = action;
	c->outgoing = outgoing;
	c->origin = account;
	tmr_init(&c->tmr_script);
	tmr_init(&c->tmr_duration);
	tmr_init(&c->tmr_answer);
	tmr_init(&c->tmr_finish);
	snprintf(c->name, sizeof(c->name), "%s-%u", e->job->role,
		 ++e->call_count);
	(void)str_copy(c->account, sizeof(c->account), account_name(account));
	c->duration_ns =
		endless ? INT64_MAX
			: draw_duration_ns(&e->draw, &action->duration);
	script_init(&c->script, action->client_actions,
		    action->client_action_count, &script_ops, c);
	return c;
}

static int call_media_new(struct call *c)
{
	struct engine *e = c->engine;
	char prompt[ENGINE_PATH_BYTES * 2];
	struct media_session_params params = {
		.bind = e->bind,
		.codec_count = c->action->codec_count,
		.ptime_ms = c->action->ptime_ms,
		.user = c,
	};
	int err = engine_prompt(e, c->action, prompt, sizeof(prompt));

	if (err)
		return err;
	memcpy(params.codecs, c->action->codecs, sizeof(params.codecs));
	params.prompt_file = prompt[0] ? prompt : NULL;
	return media_session_new(&c->media, e->media, &params);
}

/** Our own fault: the job cannot go on truthfully. */
static void call_fault(struct call *c, const char *what, int err)
{
	struct engine *e = c->engine;
	const char *why = strerror(-err);

	if (err == -EADDRINUSE)
		why = "no port of the RTP range is free";
	else if (err == -ENOENT)
		why = "the prompt is not on this agent";
	else if (err == -EILSEQ)
		why = "the prompt is no audio file";
	engine_end(e, "error", "role %s: call %s of %s: %s: %s", e->job->role,
		   c->name, c->account, what, why);
}

/* ---- what the user agent reports ---- */

static void media_deadline(struct call *c)
{
	if (c->media_applied && c->established_ns &&
	    c->duration_ns != INT64_MAX)
		media_session_send_until(c->media,
					 c->established_ns + c->duration_ns);
}

static void media_apply(struct call *c,
			const struct media_negotiated *negotiated)
{
	struct engine *e = c->engine;
	int err;

	if (!c->media)
		return;
	err = media_session_apply(c->media, negotiated);
	if (err) {
		report_event(e,
			     wire_event_flaw(report_time(e, clock_mono_ns()),
					     "media_apply", 1, strerror(-err)));
		return;
	}
	c->media_applied = true;
	media_deadline(c);
}

static void duration_over(void *arg)
{
	struct call *c = arg;
	int64_t end_ns = c->established_ns + c->duration_ns;
	int64_t now_ns = clock_mono_ns();

	/* libre's clock ticks in whole milliseconds: it may be early. */
	if (now_ns < end_ns)
		tmr_start(&c->tmr_duration, ms_until(end_ns, now_ns),
			  duration_over, c);
	else
		call_hangup(c);
}

static void pdd_sample(struct call *c, int64_t mono_ns)
{
	if (c->outgoing && c->invite_ns && !c->first_18x_ns && !c->answered_ns)
		report_sample(c->engine, true, MEASURE_sip_pdd, mono_ns,
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
		report_sample(
			c->engine, true, MEASURE_sip_invite_200_time, mono_ns,
			(double)(mono_ns - c->invite_ns) / (double)NS_PER_MS);
}

static void on_established(struct call *c, int64_t mono_ns)
{
	if (c->established_ns)
		return;
	c->established_ns = mono_ns;
	media_deadline(c);
	if (c->duration_ns != INT64_MAX)
		tmr_start(&c->tmr_duration,
			  ms_until(mono_ns + c->duration_ns, clock_mono_ns()),
			  duration_over, c);
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

static void call_finish_soon(struct call *c)
{
	if (c->closed && c->media_stopped)
		tmr_start(&c->tmr_finish, 0, call_finish, c);
}

static void on_closed(struct call *c, const struct sip_call_info *info,
		      const char *text)
{
	c->closed = true;
	c->peer = strdup(sip_call_peer(c->sip));
	c->call_id = strdup(sip_call_id(c->sip));
	c->closed_ns = info->mono_ns;
	c->end = info->end;
	c->code = info->code;
	snprintf(c->reason, sizeof(c->reason), "%s", info->reason);
	c->engine->calls_up[c->outgoing]--;
	tmr_cancel(&c->tmr_script);
	tmr_cancel(&c->tmr_duration);
	tmr_cancel(&c->tmr_answer);
	if (info->end == SIP_END_REJECTED && info->code / 100 == 3)
		call_state(c, info->mono_ns, UA_CALL_REDIRECT, text);
	call_state(c, info->mono_ns, end_state(info), text);
	call_state(c, info->mono_ns, UA_CALL_CLOSED, NULL);
	script_close(&c->script);
	acting_progress(c, info->code >= 300 ? info->code : 503,
			info->code >= 300 ? info->reason
					  : "Service Unavailable");
	if (c->media_applied)
		media_session_stop(c->media);
	else
		c->media_stopped = true;
	if (c->outgoing)
		calling_closed(c->engine);
	call_finish_soon(c);
}

static void on_reinvite(struct call *c, const struct sip_call_info *info,
			enum ua_state state)
{
	call_state(c, info->mono_ns, state, info->local ? "local" : "remote");
	if (info->local)
		script_reinvite(&c->script, NULL);
}

static void call_handler(struct sip_call *sip, enum sip_call_event event,
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
	if (info->media)
		media_apply(c, info->media);
	switch (event) {
	case SIP_CALL_OUTGOING:
		c->invite_ns = at;
		call_state(c, at, UA_CALL_OUTGOING, NULL);
		break;
	case SIP_CALL_RINGING:
		on_provisional(c, at);
		call_state(c, at, UA_CALL_RINGING, text);
		acting_progress(c, info->code, info->reason);
		break;
	case SIP_CALL_PROGRESS:
		on_provisional(c, at);
		call_state(c, at, UA_CALL_PROGRESS, text);
		break;
	case SIP_CALL_ANSWERED:
		on_answered(c, at);
		call_state(c, at, UA_CALL_ANSWERED, text);
		acting_progress(c, info->code, info->reason);
		break;
	case SIP_CALL_ESTABLISHED:
		on_established(c, at);
		call_state(c, at, UA_CALL_ESTABLISHED, NULL);
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
	case SIP_CALL_REINVITE_FAIL: {
		char refusal[256];

		snprintf(refusal, sizeof(refusal), "was refused: %s",
			 text ? text : "no answer");
		script_reinvite(&c->script, refusal);
		script_acted(&c->script, "reinvite", refusal);
		break;
	}
	case SIP_CALL_REINVITED:
	case SIP_CALL_ANSWER_TO:
	case SIP_CALL_TRANSFERRED:
	case SIP_CALL_TRANSFER_FAIL:
		acting_answered(c, event, info, text);
		break;
	case SIP_CALL_REFERRED:
		acting_referred(c, info);
		break;
	case SIP_CALL_CLOSED:
		on_closed(c, info, text);
		return;
	}
	script_go_on(c);
}

/* ---- what the media engine reports ---- */

void call_media_record(struct call *c, const struct media_record *record)
{
	struct engine *e = c->engine;

	switch (record->kind) {
	case MEDIA_RECORD_SECOND:
		collect_second(e->collect, record->outgoing, &record->u.second,
			       e->wall_offset_ns);
		live_second(&e->live, record->outgoing, &record->u.second);
		break;
	case MEDIA_RECORD_TOTAL:
		if (json_array_append_new(c->streams,
					  wire_stream_encode(&record->u.total,
							     record->outgoing)))
			log_error(
				"call=%s out of memory: a stream's totals are lost",
				c->name);
		break;
	case MEDIA_RECORD_FIRST_RTP:
		call_state(c, record->mono_ns, UA_CALL_RTPESTAB, NULL);
		script_go_on(c);
		break;
	case MEDIA_RECORD_RTCP:
		call_state(c, record->mono_ns, UA_CALL_RTCP, NULL);
		script_go_on(c);
		break;
	case MEDIA_RECORD_STOPPED:
		c->media_stopped = true;
		call_finish_soon(c);
		break;
	}
}

/* ---- the end ---- */

static void call_report(struct call *c)
{
	static const char *const ends[] = {
		[SIP_END_LOCAL] = "local",
		[SIP_END_REMOTE] = "remote",
		[SIP_END_REJECTED] = "rejected",
		[SIP_END_CANCELLED] = "cancelled",
		[SIP_END_FAILED] = "failed",
	};
	struct engine *e = c->engine;
	int64_t first_ns = c->first_18x_ns ? c->first_18x_ns : c->answered_ns;
	const struct wire_event_call event = {
		.call = c->name,
		.account = c->account,
		.outgoing = c->outgoing,
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
		.code = c->code,
		.reason = c->reason,
		.streams = c->streams,
	};

	report_event(e,
		     wire_event_call(report_time(e, clock_mono_ns()), &event));
}

static void call_finish(void *arg)
{
	struct call *c = arg;
	struct engine *e = c->engine;
	bool generated = c->outgoing && !c->referred;

	call_report(c);
	call_release(c);
	if (generated)
		calling_ended(e);
	engine_end_check(e);
}

void call_hangup(struct call *c)
{
	if (c->closed || c->hangup_ns)
		return;
	c->hangup_ns = clock_mono_ns();
	tmr_cancel(&c->tmr_duration);
	tmr_cancel(&c->tmr_answer);
	sip_call_hangup(c->sip);
}

void call_overdue(struct call *c)
{
	static const struct sip_call_info info = {
		.end = SIP_END_FAILED,
		.reason = "the dialog did not end in time",
	};
	struct sip_call_info now = info;

	if (c->closed)
		return; /* the media engine will say that it stopped */
	now.mono_ns = clock_mono_ns();
	on_closed(c, &now, info.reason);
	/* The user agent may go on with the dialog, unheard. */
	c->sip = sip_call_free(c->sip);
}

void call_abandon(struct call *c)
{
	c->engine->abandoned = true;
	call_report(c);
	list_unlink(&c->le);
}

/* ---- the beginning ---- */

static void call_begun(struct call *c)
{
	struct engine *e = c->engine;

	list_append(&e->calls, &c->le, c);
	e->calls_up[c->outgoing]++;
	e->calls_begun[c->outgoing]++;
}

int call_place(struct engine *e, const struct wire_action *action,
	       struct account *account, const char *uri)
{
	struct call *c = call_new(e, action, account, true);
	struct sip_call_params params = {.uri = uri, .call_h = call_handler};
	int err;

	if (!c) {
		engine_end(e, "error", "role %s: out of memory", e->job->role);
		return -ENOMEM;
	}
	err = call_media_new(c);
	if (err) {
		call_fault(c, "its audio cannot be set up", err);
		call_release(c);
		return err;
	}
	params.media = media_session_local(c->media);
	params.arg = c;
	err = sip_call_dial(&c->sip, account->sip, &params);
	if (err) {
		call_fault(c, "it cannot be dialled", err);
		call_release(c);
		return err;
	}
	call_begun(c);
	script_go_on(c);
	return 0;
}

int call_place_referred(struct call *referrer, const char *uri)
{
	struct engine *e = referrer->engine;
	struct sip_call_params params = {.uri = uri, .call_h = call_handler};
	struct call *c;
	int err;

	if (list_count(&e->calls) >= ENGINE_CALLS_MAX)
		return -EBUSY;
	c = call_new(e, referrer->action, referrer->origin, true);
	if (!c)
		return -ENOMEM;
	c->referred = true;
	/* The script is that of the call that was transferred. */
	script_init(&c->script, NULL, 0, &script_ops, c);
	err = call_media_new(c);
	if (!err) {
		params.media = media_session_local(c->media);
		params.arg = c;
		err = sip_call_dial(&c->sip, referrer->origin->sip, &params);
	}
	if (err) {
		call_release(c);
		return err;
	}
	c->referrer = referrer;
	call_begun(c);
	return 0;
}

static void answer_due(void *arg)
{
	struct call *c = arg;
	int err;

	if (c->closed)
		return;
	if (c->action->answer_code != 200) {
		err = c->action->answer_contact
			      ? sip_call_redirect(c->sip,
						  c->action->answer_code,
						  c->action->answer_contact)
			      : sip_call_reject(c->sip, c->action->answer_code,
						NULL);
		if (err)
			call_hangup(c);
		return;
	}
	err = c->media ? 0 : call_media_new(c);
	if (err)
		call_fault(c, "its audio cannot be set up", err);
	else
		err = sip_call_answer(c->sip, media_session_local(c->media));
	if (err) {
		snprintf(c->reason, sizeof(c->reason), "%s", strerror(-err));
		log_warning("run=%s call=%s cannot be answered: %s",
			    c->engine->job->session_id, c->name, c->reason);
		call_hangup(c);
	}
}

void call_take(struct engine *e, const struct wire_action *action,
	       struct account *account, struct sip_call *sip)
{
	struct call *c = call_new(e, action, account, false);
	bool rings = action->ring_only || action->answer_code == 200 ||
		     action->answer_delay_ms > 0;

	if (!c || sip_call_adopt(sip, call_handler, c)) {
		if (c)
			call_release(c);
		sip_call_reject(sip, 500, "Server Internal Error");
		return;
	}
	c->sip = sip;
	c->invite_ns = clock_mono_ns();
	call_begun(c);
	call_state(c, c->invite_ns, UA_CALL_INCOMING, NULL);
	if (action->early_media && call_media_new(c) == 0)
		sip_call_progress(sip, 183, media_session_local(c->media));
	else if (rings)
		sip_call_ring(sip);
	if (!action->ring_only && !acting_refuses(action))
		tmr_start(&c->tmr_answer, action->answer_delay_ms, answer_due,
			  c);
	script_go_on(c);
}
