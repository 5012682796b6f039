#include "agent/engine/call/call_media.h"
#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* More calls came than the range has ports for: 503, and the call failed. */
static void refuse_without_port(struct call *c)
{
	const struct engine_settings *s = &c->engine->settings;

	(void)str_print(c->failure, sizeof(c->failure),
			"it was refused with 503: no port of the RTP range "
			"%u-%u was free; widen rtp_ports, or limit "
			"max_concurrent_calls",
			s->rtp_min, s->rtp_max);
	if (sip_call_reject(c->sip, 503, NULL))
		call_hangup(c);
}

void call_answer_due(void *arg)
{
	struct call *c = arg;
	char why[96];
	int err;

	if (c->closed)
		return;
	if (c->action->answer_code != 200 && !c->replaces) {
		c->refusal_asked = true;
		err = c->action->answer_contact
			      ? sip_call_redirect(c->sip,
						  c->action->answer_code,
						  c->action->answer_contact)
			      : sip_call_reject(c->sip, c->action->answer_code,
						NULL);
		if (err)
			call_give_up(c, "its answer_code cannot be sent");
		return;
	}
	err = c->media ? 0 : call_media_new(c);
	if (!err && !media_session_ready(c->media)) {
		c->answer_waits = true;
		return;
	}
	if (err == -EADDRINUSE) {
		refuse_without_port(c);
		return;
	}
	if (err)
		call_fault(c, "its audio cannot be set up", err);
	else
		err = sip_call_answer(c->sip, media_session_local(c->media));
	if (err) {
		log_warning("run=%s call=%s cannot be answered: %s",
			    c->engine->job->session_id, c->name,
			    strerror(-err));
		snprintf(why, sizeof(why), "it cannot be answered: %s",
			 strerror(-err));
		call_give_up(c, why);
	}
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
	struct call *c = call_make(e, action, account, false);
	bool rings = action->ring_only || action->answer_code == 200 ||
		     action->answer_delay_ms > 0;

	if (!c || call_script_fill(c, account->index) ||
	    sip_call_adopt(sip, call_handler, c)) {
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
		call_answer_due(c);
		return;
	}
	media_early(c, rings);
	if (!action->ring_only && !script_actions_refuses(action))
		mono_timer_start(&c->tmr_answer, action->answer_delay_ms,
				 call_answer_due, c);
	call_go_on(c);
}
