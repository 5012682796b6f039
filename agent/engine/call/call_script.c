#include "agent/engine/call/call_script.h"
#include "agent/engine/engine_internal.h"

#include <errno.h>
#include <stdlib.h>

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

	/* Before the answer it refuses an incoming call, with 603. */
	c->refusal_asked = true;
	call_hangup(c);
}

static void op_failed(const struct wire_client_action *action, const char *text,
		      void *arg)
{
	struct call *c = arg;
	struct engine *e = c->engine;

	report_event(e->report,
		     wire_event_assert(report_time(e->report, clock_mono_ns()),
				       c->name,
				       wire_script_action_name(action->type),
				       action->argument, text));
}

const struct script_ops call_script_ops = {
	.hold = op_hold,
	.resume = op_resume,
	.hangup = op_hangup,
	.act = script_actions_do,
	.failed = op_failed,
};

static bool any_template(const struct wire_action *a)
{
	for (size_t i = 0; i < a->client_action_count; i++) {
		if (wire_argument_is_template(a->client_actions[i].argument))
			return true;
	}
	return false;
}

int call_script_fill(struct call *c, unsigned n)
{
	const struct wire_action *a = c->action;
	const char *user = c->origin ? account_name(c->origin) : "";
	struct wire_client_action *list;
	char *texts;

	if (!any_template(a))
		return 0;
	/* the list, then its arguments */
	list = calloc(a->client_action_count,
		      sizeof(*list) + WIRE_ARGUMENT_BYTES);
	if (!list)
		return -ENOMEM;
	texts = (char *)(list + a->client_action_count);
	for (size_t i = 0; i < a->client_action_count; i++) {
		int len;

		list[i] = a->client_actions[i];
		if (!wire_argument_is_template(list[i].argument))
			continue;
		len = wire_expand_dial(texts, WIRE_ARGUMENT_BYTES,
				       list[i].argument, c->engine->job, n,
				       user);
		if (len < 0) {
			free(list);
			return len;
		}
		list[i].argument = texts;
		texts += WIRE_ARGUMENT_BYTES;
	}
	c->filled = list;
	script_init(&c->script, list, a->client_action_count, &call_script_ops,
		    c);
	return 0;
}

uint64_t call_ms_until(int64_t at_ns, int64_t now_ns)
{
	return at_ns > now_ns ? (uint64_t)((at_ns - now_ns + NS_PER_MS - 1) /
					   NS_PER_MS)
			      : 0;
}

static void script_due(void *arg)
{
	call_go_on(arg);
}

void call_go_on(struct call *c)
{
	int64_t now_ns = clock_mono_ns();
	int64_t at_ns;

	if (c->closed)
		return;
	at_ns = script_run(&c->script, now_ns);
	if (at_ns == INT64_MAX)
		mono_timer_cancel(&c->tmr_script);
	else
		mono_timer_start(&c->tmr_script, call_ms_until(at_ns, now_ns),
				 script_due, c);
}

void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text)
{
	report_state(c->engine->report, mono_ns, state, c->account, c->name,
		     text);
	script_state(&c->script, state);
}
