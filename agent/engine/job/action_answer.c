#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <string.h>

void action_answer_start(struct engine *e, const struct wire_action *action)
{
	const struct sip_call_options options = call_options(action);
	struct le *le;
	bool any = accounts_in_state(e, ACCOUNT_REGISTERED) > 0;

	if (!any && accounts_make(e, action))
		return; /* the job was ended */
	e->answering = action;
	e->calls_taken = 0;
	e->calls_ended = 0;
	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;

		if (a->state != ACCOUNT_REGISTERED && a->origin != action)
			continue;
		a->answers = action;
		sip_account_call_options(a->sip, &options);
		sip_account_accept_calls(a->sip, true);
		if (action->accept_refer)
			(void)sip_account_refer(a->sip,
						script_actions_refer_outside);
	}
	if (action_notify_start(e, action))
		return; /* the job was ended */
	steps_done(e);
}

void action_answer_stop(struct engine *e)
{
	struct le *le;

	e->answering = NULL;
	LIST_FOREACH(&e->accounts, le)
	{
		struct account *a = le->data;

		a->answers = NULL;
		sip_account_accept_calls(a->sip, false);
		if (user_agents_native(a))
			(void)sip_account_refer(a->sip, NULL);
		action_notify_stop(a);
	}
}

/* A call that replaces one of ours (RFC 3891) takes over its action, too. */
static bool replacing_taken(struct engine *e, struct sip_call *sip)
{
	const struct sip_call *old = sip_call_replaced(sip);
	struct le *le;

	if (!old)
		return false;
	LIST_FOREACH(&e->calls, le)
	{
		const struct call *c = le->data;

		if (c->sip == old && !c->closed &&
		    e->calls_listed < ENGINE_CALLS_MAX) {
			call_take(e, c->action, c->origin, sip);
			return true;
		}
	}
	return false;
}

void action_answer_incoming(struct sip_account *account, struct sip_call *call,
			    void *arg)
{
	struct account *a = arg;
	struct engine *e = a->engine;
	const struct wire_action *action = a->answers;

	(void)account;
	if (!report_ended(e->report) && replacing_taken(e, call))
		return;
	if (!action || report_ended(e->report)) {
		sip_call_reject(call, 480, "Temporarily Unavailable");
		return;
	}
	if ((action->max_total_calls &&
	     e->calls_taken >= action->max_total_calls) ||
	    (action->max_concurrent_calls &&
	     e->calls_up[0] >= action->max_concurrent_calls) ||
	    e->calls_listed >= e->sessions_max) {
		sip_call_reject(call, 486, "Busy Here");
		return;
	}
	e->calls_taken++;
	call_take(e, action, a, call);
}
