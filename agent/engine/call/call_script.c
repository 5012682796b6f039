#include "agent/engine/call/call_internal.h"

#include <errno.h>
#include <stdlib.h>

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
	/* one allocation holds the list, then its arguments */
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
				       list[i].argument, c->calls->job, n,
				       user);
		if (len < 0) {
			free(list);
			return len;
		}
		list[i].argument = texts;
		texts += WIRE_ARGUMENT_BYTES;
	}
	c->filled = list;
	script_init(&c->script, list, a->client_action_count, c->script.ops, c);
	return 0;
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
		mono_timer_start(&c->tmr_script, clock_ms_until(at_ns, now_ns),
				 script_due, c);
}

void call_state(struct call *c, int64_t mono_ns, enum ua_state state,
		const char *text)
{
	report_state(c->calls->report, mono_ns, state, c->account, c->name,
		     text);
	script_state(&c->script, state);
}
