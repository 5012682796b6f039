#include "agent/engine/job/job_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define URI_BYTES 512

static void ask_next(struct actions *actions);

static void ask_settled(struct actions *actions, const char *account,
			const char *refusal)
{
	const struct wire_action *a = actions->asking.action;
	bool message = a->type == WIRE_ACTION_MESSAGE;

	if (refusal)
		report_event(
			actions->report,
			wire_event_assert(
				report_time(actions->report, clock_mono_ns()),
				account, message ? "message" : "options",
				a->dial_destination ? a->dial_destination : "",
				refusal));
	actions->asking.answered++;
}

static void answered(const struct sip_request_info *info, void *arg)
{
	struct actions *actions = arg;
	bool good = info->code >= 200 && info->code < 300;
	char text[256];

	if (report_ended(actions->report) || !actions->asking.action)
		return;
	if (info->took_ns &&
	    actions->asking.action->type == WIRE_ACTION_OPTIONS)
		report_sample(actions->report, true, MEASURE_sip_options_time,
			      info->mono_ns,
			      (double)info->took_ns / (double)NS_PER_MS);
	if (info->code)
		snprintf(text, sizeof(text), "was answered %u %s", info->code,
			 info->reason);
	else
		snprintf(text, sizeof(text), "%s", info->reason);
	ask_settled(actions, sip_account_username(info->account),
		    good ? NULL : text);
	ask_next(actions);
}

static int ask_one(struct actions *actions, size_t i)
{
	const struct wire_action *a = actions->asking.action;
	struct account *account = actions->calling.accounts[i];
	bool message = a->type == WIRE_ACTION_MESSAGE;
	char uri[URI_BYTES] = "";

	if (a->dial_destination &&
	    wire_expand_dial(uri, sizeof(uri), a->dial_destination,
			     actions->job, (unsigned)i,
			     account_name(account)) < 0)
		return -EINVAL;
	return sip_account_request(account_sip(account),
				   message ? "MESSAGE" : "OPTIONS",
				   uri[0] ? uri : NULL,
				   message ? "text/plain;charset=UTF-8" : NULL,
				   a->message, answered, actions);
}

static void ask_next(struct actions *actions)
{
	struct action_options *k = &actions->asking;
	size_t count = actions->calling.account_count;

	while (k->asked < count &&
	       k->asked - k->answered < ACTION_REQUESTS_MAX) {
		int err = ask_one(actions, k->asked++);

		if (err)
			ask_settled(
				actions,
				account_name(actions->calling
						     .accounts[k->asked - 1]),
				strerror(-err));
	}
	if (k->answered < count)
		return;
	k->action = NULL;
	action_call_stop(actions);
	action_done(actions);
}

void action_options_start(struct actions *actions,
			  const struct wire_action *action)
{
	action_call_stop(actions);
	if (action_call_gather(actions, action))
		return; /* the job was ended */
	actions->asking = (struct action_options){.action = action};
	ask_next(actions);
}

void action_message_start(struct actions *actions,
			  const struct wire_action *action)
{
	action_options_start(actions, action);
}
