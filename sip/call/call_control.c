#include "sip/call/call_control.h"

#include <errno.h>

#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/extensions.h"
#include "sip/call/fork.h"
#include "sip/call/in_dialog.h"
#include "sip/call/native_call.h"
#include "sip/call/reinvite.h"
#include "sip/call/reliable_provisional.h"
#include "sip/call/transfer.h"
#include "sip/call/uac.h"
#include "sip/call/uas.h"
#include "sip/call/update.h"
#include "sip/dialog/dialog.h"
#include "sip/transaction/server_transaction.h"

static void stop(struct sip_call *call)
{
	reinvite_stop(call);
	reliable_stop(call);
	update_stop(call);
}

static void closing(struct sip_call *call)
{
	transfer_stop(call);
	uas_stop_timers(call);
}

static int refresh(struct sip_call *call)
{
	return call->timer.peer_updates ? update_refresh(call)
					: reinvite_refresh(call);
}

static const struct call_handlers handlers = {
	.closing_h = closing,
	.stop_h = stop,
	.refresh_h = refresh,
	.early_end_h = update_early_end,
};

int call_dial(struct sip_call **ret, const struct call_user *user,
	      const struct sip_call_params *params)
{
	return uac_dial(ret, user, params, &handlers);
}

void call_invited(const struct call_user *user, const struct sip_msg *msg)
{
	uas_invite(user, msg, &handlers);
}

/* ---- messages ---- */

static bool dialog_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;

	return call_dialog(call, arg) != NULL;
}

struct sip_call *call_find(const struct call_table *table,
			   const struct sip_msg *msg)
{
	return call_table_find(table, &msg->callid, dialog_handler,
			       (void *)(uintptr_t)msg);
}

const struct sip_call_options *call_options(const struct sip_call *call)
{
	return &call->options;
}

static void message_received(struct sip_call *call, const struct sip_msg *msg)
{
	(void)server_transaction_reply(NULL, call->sip, msg, 200, "OK");
}

static void options_received(struct sip_call *call, const struct sip_msg *msg)
{
	extensions_reply(call->sip, msg, &call->options);
}

static void method_refuse(struct sip_call *call, const struct sip_msg *msg)
{
	extensions_refuse_method(call->sip, msg);
}

typedef void(request_h)(struct sip_call *call, const struct sip_msg *msg);

static request_h *request_handler(const struct pl *method)
{
	static const struct {
		const char *method;
		request_h *handler;
	} requests[] = {
		{"BYE", uas_bye},
		{"INVITE", reinvite_received},
		{"OPTIONS", options_received},
		{"INFO", info_received},
		{"MESSAGE", message_received},
		{"PRACK", reliable_received},
		{"UPDATE", update_received},
		{"REFER", transfer_refer_received},
		{"NOTIFY", transfer_notify_received},
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (!pl_strcmp(method, requests[i].method))
			return requests[i].handler;
	}
	return method_refuse;
}

void call_request(struct sip_call *call, const struct sip_msg *msg)
{
	if (call->state == CALL_DONE)
		(void)server_transaction_reply(
			NULL, call->sip, msg, 481,
			"Call/Transaction Does Not Exist");
	else if (!dialog_in_order(call_dialog(call, msg), msg))
		(void)server_transaction_reply(NULL, call->sip, msg, 500,
					       "Server Internal Error");
	else if (call->user->verify_h(msg, call->user->arg))
		request_handler (&msg->met)(call, msg);
}

void call_acknowledged(const struct call_table *table,
		       const struct sip_msg *msg)
{
	struct sip_call *call = call_find(table, msg);

	if (call)
		uas_ack(call, msg);
}

/* The call sent the INVITE that this response answers, whichever branch
 * answered it. */
static bool branch_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;
	const struct sip_msg *msg = arg;

	return call->outgoing && dialog_remote_tag(call->dialog) &&
	       !pl_strcmp(&msg->callid, dialog_callid(call->dialog)) &&
	       !pl_strcmp(&msg->from.tag, dialog_local_tag(call->dialog));
}

void call_answered_again(const struct call_table *table,
			 const struct sip_msg *msg)
{
	struct sip_call *call = call_find(table, msg);

	if (call) {
		uac_ack_again(call, msg);
		return;
	}
	call = call_table_find(table, &msg->callid, branch_handler,
			       (void *)(uintptr_t)msg);
	if (call)
		fork_answered(&call->branches, call->origin, call->dialog, msg);
}

static bool callid_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;

	return call->outgoing && !pl_strcmp(arg, dialog_callid(call->dialog));
}

void call_invite_sent(const struct call_table *table, const struct pl *callid,
		      int64_t mono_ns)
{
	struct sip_call *call = call_table_find(table, callid, callid_handler,
						(void *)(uintptr_t)callid);

	if (call)
		uac_sent(call, mono_ns);
}

static bool abandon_handler(struct le *le, void *arg)
{
	(void)arg;
	uas_stop_timers(le->data);
	return false;
}

void call_abandon_all(const struct call_table *table)
{
	call_table_apply(table, abandon_handler, NULL);
}

/* ---- functions of call.h ---- */

int native_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg)
{
	call_event_adopt(&call->events, handler, arg);
	return 0;
}

void native_call_hangup(struct sip_call *call)
{
	switch (call->state) {
	case CALL_INVITING:
		call_set_end(call, SIP_END_CANCELLED, true, 0,
			     "cancelled by us");
		uac_cancel(call);
		break;
	case CALL_INCOMING:
		uas_refuse(call, 603, "Decline");
		break;
	case CALL_ACCEPTED:
		/* No BYE before the ACK (RFC 3261 section 15). */
		call->uas.bye_after_ack = true;
		break;
	case CALL_UP:
		call_set_end(call, SIP_END_LOCAL, true, 0, "hung up by us");
		call_bye(call);
		break;
	case CALL_ENDING:
	case CALL_DONE:
		break;
	}
}

int native_call_digit(struct sip_call *call, char digit)
{
	(void)call;
	(void)digit;
	return -ENOTSUP;
}

int native_call_mute(struct sip_call *call, bool mute)
{
	(void)call;
	(void)mute;
	return -ENOTSUP;
}

int native_call_play(struct sip_call *call, const char *path, int64_t ns)
{
	(void)call;
	(void)path;
	(void)ns;
	return -ENOTSUP;
}

/* A BYE, a CANCEL or a 2xx without ACK is completed in the background; its
 * transaction keeps the memory of the call until then. */
struct sip_call *native_call_free(struct sip_call *call)
{
	if (!call)
		return NULL;
	call->events.handler = NULL;
	native_call_hangup(call);
	call_event_mute(&call->events);
	return mem_deref(call);
}
