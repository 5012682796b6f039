#include "agent/engine/engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define URI_BYTES 512

static void ask_next(struct engine *e);

static void ask_settled(struct engine *e, const char *account,
			const char *refusal)
{
	const struct wire_action *a = e->asking.action;
	bool message = a->type == WIRE_ACTION_MESSAGE;

	if (refusal)
		report_event(
			e->report,
			wire_event_assert(
				report_time(e->report, clock_mono_ns()),
				account, message ? "message" : "options",
				a->dial_destination ? a->dial_destination : "",
				refusal));
	e->asking.answered++;
}

static void answered(const struct sip_request_info *info, void *arg)
{
	struct engine *e = arg;
	bool good = info->code >= 200 && info->code < 300;
	char text[256];

	if (report_ended(e->report) || !e->asking.action)
		return;
	if (info->took_ns && e->asking.action->type == WIRE_ACTION_OPTIONS)
		report_sample(e->report, true, MEASURE_sip_options_time,
			      info->mono_ns,
			      (double)info->took_ns / (double)NS_PER_MS);
	if (info->code)
		snprintf(text, sizeof(text), "was answered %u %s", info->code,
			 info->reason);
	else
		snprintf(text, sizeof(text), "%s", info->reason);
	ask_settled(e, sip_account_username(info->account), good ? NULL : text);
	ask_next(e);
}

static int ask_one(struct engine *e, size_t i)
{
	const struct wire_action *a = e->asking.action;
	struct account *account = e->calling.accounts[i];
	bool message = a->type == WIRE_ACTION_MESSAGE;
	char uri[URI_BYTES] = "";

	if (a->dial_destination &&
	    wire_expand_dial(uri, sizeof(uri), a->dial_destination, e->job,
			     (unsigned)i, account_name(account)) < 0)
		return -EINVAL;
	return sip_account_request(account->sip,
				   message ? "MESSAGE" : "OPTIONS",
				   uri[0] ? uri : NULL,
				   message ? "text/plain;charset=UTF-8" : NULL,
				   a->message, answered, e);
}

static void ask_next(struct engine *e)
{
	struct action_options *k = &e->asking;
	size_t count = e->calling.account_count;

	while (k->asked < count &&
	       k->asked - k->answered < ENGINE_REGISTERS_MAX) {
		int err = ask_one(e, k->asked++);

		if (err)
			ask_settled(
				e,
				account_name(e->calling.accounts[k->asked - 1]),
				strerror(-err));
	}
	if (k->answered < count)
		return;
	k->action = NULL;
	action_call_stop(e);
	steps_done(e);
}

void action_options_start(struct engine *e, const struct wire_action *action)
{
	action_call_stop(e);
	if (action_call_gather(e, action))
		return; /* the job was ended */
	e->asking = (struct action_options){.action = action};
	ask_next(e);
}
