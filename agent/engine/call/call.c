#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream has at most 16 sources, of some 300 bytes each. */
#define STREAM_BYTES_MAX ((size_t)64 << 10)

static void unlist(struct call *c)
{
	if (c->le.list)
		c->engine->calls_listed--;
	list_unlink(&c->le);
}

/* No other call points to it any more. */
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

struct call *call_make(struct engine *e, const struct wire_action *action,
		       struct account *account, bool outgoing)
{
	struct call *c = calloc(1, sizeof(*c));
	bool endless = action->type == WIRE_ACTION_ANSWER &&
		       action->duration.kind == WIRE_DURATION_FIXED &&
		       action->duration.a_s == 0;

	if (!c)
		return NULL;
	buf_init(&c->streams[0], STREAM_BYTES_MAX);
	buf_init(&c->streams[1], STREAM_BYTES_MAX);
	buf_init(&c->sources, STREAM_BYTES_MAX);
	c->engine = e;
	c->action = action;
	c->outgoing = outgoing;
	c->origin = account;
	snprintf(c->name, sizeof(c->name), "%s-%u", e->job->role,
		 ++e->call_count);
	(void)str_copy(c->account, sizeof(c->account),
		       account ? account_name(account) : "");
	c->duration_ns =
		endless ? INT64_MAX
			: duration_draw_ns(&e->draw, &action->duration);
	script_init(&c->script, action->client_actions,
		    action->client_action_count, &call_script_ops, c);
	return c;
}

void call_unmake(struct call *c)
{
	c->engine->call_count--;
	call_release(c);
}

void call_fault(struct call *c, const char *what, int err)
{
	struct engine *e = c->engine;
	const char *why = strerror(-err);

	if (err == -EADDRINUSE)
		why = c->action->stream.local_port
			      ? "its local_port or the next one is in use"
			      : "no port of the RTP range is free";
	report_end_job(e->report, "error", "role %s: call %s%s%s: %s: %s",
		       e->job->role, c->name, c->account[0] ? " of " : "",
		       c->account, what, why);
}

void call_begun(struct call *c)
{
	struct engine *e = c->engine;

	list_append(&e->calls, &c->le, c);
	e->calls_listed++;
	e->calls_up[c->outgoing]++;
	e->calls_begun[c->outgoing]++;
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
		err = call_dial(c);
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
	struct engine *e = c->engine;
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
	struct writer w = report_begin(e->report);

	wire_event_call(&w, report_time(e->report, clock_mono_ns()), &event);
	report_end(e->report, OUTBOX_EVENTS, &w);
	if (!w.err)
		call_record_figures(c, w.buf->data, w.buf->used);
}

void call_finish(void *arg)
{
	struct call *c = arg;
	struct engine *e = c->engine;
	bool generated = c->outgoing && !c->placed_for[0];

	call_report(c);
	call_release(c);
	if (generated)
		action_call_ended(e);
	engine_end_check(e);
}

void call_hangup(struct call *c)
{
	if (c->closed || c->hangup_ns)
		return;
	if (c->action->type == WIRE_ACTION_STREAM) {
		action_stream_end(c);
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
	switch (c->end) {
	case SIP_END_LOCAL:
	case SIP_END_REMOTE:
		/* Never established: a BYE instead of the ACK, for one. */
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
	call_hangup(c);
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
	call_closed(c, &now, info.reason);
	/* The user agent may go on with the dialog, unheard. */
	c->sip = sip_call_free(c->sip);
}

void call_abandon(struct call *c)
{
	c->engine->abandoned = true;
	call_report(c);
	unlist(c);
}
