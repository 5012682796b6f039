#include "agent/engine/internal.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void call_release(struct call *c)
{
	struct le *le;

	LIST_FOREACH(&c->engine->calls, le)
	{
		struct call *other = le->data;

		if (other->referrer == c)
			other->referrer = NULL;
		if (other->consults_for == c)
			other->consults_for = NULL;
		if (other->consult.second == c)
			other->consult.second = NULL;
	}
	list_unlink(&c->le);
	tmr_cancel(&c->tmr_script);
	tmr_cancel(&c->tmr_duration);
	tmr_cancel(&c->tmr_answer);
	tmr_cancel(&c->tmr_finish);
	tmr_cancel(&c->info_dtmf.tmr);
	tmr_cancel(&c->listening.tmr);
	if (c->media)
		media_session_free(c->media);
	if (c->sip)
		sip_call_free(c->sip);
	json_decref(c->streams);
	json_decref(c->audio[0]);
	json_decref(c->audio[1]);
	json_decref(c->path);
	free(c->dial_uri);
	free(c->dial_replaces);
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
	tmr_init(&c->info_dtmf.tmr);
	tmr_init(&c->listening.tmr);
	snprintf(c->name, sizeof(c->name), "%s-%u", e->job->role,
		 ++e->call_count);
	(void)str_copy(c->account, sizeof(c->account), account_name(account));
	c->duration_ns =
		endless ? INT64_MAX
			: draw_duration_ns(&e->draw, &action->duration);
	script_init(&c->script, action->client_actions,
		    action->client_action_count, &call_script_ops, c);
	return c;
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
		.code = c->code,
		.reason = c->reason,
		.streams = c->streams,
		.path = c->path,
	};

	report_event(e,
		     wire_event_call(report_time(e, clock_mono_ns()), &event));
}

void call_finish(void *arg)
{
	struct call *c = arg;
	struct engine *e = c->engine;
	bool generated = c->outgoing && !c->placed_for[0];

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
	if (!c->sip) {
		call_give_up(c, "ended before it was dialled");
		return;
	}
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
	call_closed(c, &now, info.reason);
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

/* Now that it is known what the offer says. */
static int dial(struct call *c)
{
	const struct sip_call_options options = call_options(c->action);
	struct headers headers = {.list = NULL};
	struct sip_call_params params = {
		.uri = c->dial_uri,
		.media = media_session_local(c->media),
		.options = &options,
		.replaces = c->dial_replaces,
		.call_h = call_handler,
		.arg = c,
	};
	int err = 0;

	if (headers_vary(c->origin))
		err = headers_make(&headers, c->origin, c->number);
	if (err)
		return err;
	params.headers = headers.list;
	params.header_count = headers.count;
	err = sip_call_dial(&c->sip, c->origin->sip, &params);
	headers_free(&headers);
	return err;
}

/* Dial, at once or when it can be. @return 0; -errno */
static int dial_soon(struct call *c, const char *uri, const char *replaces)
{
	c->dial_uri = strdup(uri);
	c->dial_replaces = replaces ? strdup(replaces) : NULL;
	if (!c->dial_uri || (replaces && !c->dial_replaces))
		return -ENOMEM;
	return media_session_ready(c->media) ? dial(c) : 0;
}

int call_place(struct engine *e, const struct wire_action *action,
	       struct account *account, const char *uri, unsigned n)
{
	struct call *c = call_new(e, action, account, true);
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
	c->number = n;
	err = dial_soon(c, uri, NULL);
	if (err) {
		call_fault(c, "it cannot be dialled", err);
		call_release(c);
		return err;
	}
	call_begun(c);
	if (c->sip)
		call_go_on(c);
	return 0;
}

int call_place_extra(struct call **ret, struct call *of, const char *uri,
		     const char *replaces)
{
	struct engine *e = of->engine;
	struct call *c;
	int err;

	if (list_count(&e->calls) >= ENGINE_CALLS_MAX)
		return -EBUSY;
	c = call_new(e, of->action, of->origin, true);
	if (!c)
		return -ENOMEM;
	(void)str_copy(c->placed_for, sizeof(c->placed_for), of->name);
	/* The script is the other call's. */
	script_init(&c->script, NULL, 0, &call_script_ops, c);
	c->number = of->number;
	err = call_media_new(c);
	if (!err)
		err = dial_soon(c, uri, replaces);
	if (err) {
		call_release(c);
		return err;
	}
	call_begun(c);
	*ret = c;
	return 0;
}

static void answer_due(void *arg)
{
	struct call *c = arg;
	int err;

	if (c->closed)
		return;
	if (c->action->answer_code != 200 && !c->replaces) {
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
	if (!err && !media_session_ready(c->media)) {
		c->answer_waits = true;
		return;
	}
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

void call_ready(struct call *c)
{
	int err = 0;

	if (c->progress_waits)
		sip_call_progress(c->sip, 183, media_session_local(c->media));
	c->progress_waits = false;
	if (c->answer_waits) {
		c->answer_waits = false;
		answer_due(c);
	} else if (c->dial_uri && !c->sip) {
		err = dial(c);
	}
	if (err)
		call_give_up(c, strerror(-err));
	else
		call_go_on(c);
}

void call_give_up(struct call *c, const char *reason)
{
	const struct sip_call_info info = {
		.mono_ns = clock_mono_ns(),
		.local = true,
		.reason = reason,
		.end = SIP_END_FAILED,
	};

	if (c->sip)
		call_hangup(c);
	else
		call_closed(c, &info, reason);
}

/* Early media, or the servers' answers as soon as can be. */
static void media_early(struct call *c, bool rings)
{
	const struct wire_action *action = c->action;
	bool wanted = action->early_media ||
		      (call_nat_asks(action) && action->answer_code == 200 &&
		       !action->ring_only);
	bool made = wanted && call_media_new(c) == 0;

	if (action->early_media && made) {
		c->progress_waits = !media_session_ready(c->media);
		if (!c->progress_waits)
			sip_call_progress(c->sip, 183,
					  media_session_local(c->media));
	} else if (rings) {
		sip_call_ring(c->sip);
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
	c->invite_ns = sip_call_came_ns(sip);
	c->replaces = sip_call_replaced(sip) != NULL;
	call_begun(c);
	call_state(c, c->invite_ns, UA_CALL_INCOMING, NULL);
	if (c->replaces) { /* the script was the other call's */
		script_init(&c->script, NULL, 0, &call_script_ops, c);
		answer_due(c);
		return;
	}
	media_early(c, rings);
	if (!action->ring_only && !acting_refuses(action))
		tmr_start(&c->tmr_answer, action->answer_delay_ms, answer_due,
			  c);
	call_go_on(c);
}
