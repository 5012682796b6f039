#include "sip/call.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/fork.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/session_timer.h"
#include "sip/call/warning.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"
#include "sip/sdp/sdp_crypto.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transaction/transaction_layer.h"
#include "sip/transport/transport.h"

static void call_destructor(void *arg)
{
	struct sip_call *call = arg;

	call_table_remove(call->user->table, &call->he);
	call_event_release(&call->events);
	mono_timer_cancel(&call->end.tmr);
	mono_timer_cancel(&call->uac.tmr_ring);
	mono_timer_cancel(&call->uas.tmr_ok);
	mono_timer_cancel(&call->uas.tmr_no_ack);
	mono_timer_cancel(&call->reinvite.tmr);
	mono_timer_cancel(&call->refer.tmr);
	mono_timer_cancel(&call->reliable.tmr);
	mono_timer_cancel(&call->reliable.tmr_end);
	list_flush(&call->reliable.queue);
	mem_deref(call->reliable.mb);
	session_timer_stop(&call->timer);
	list_flush(&call->branches.answered);
	list_flush(&call->branches.early);
	list_flush(&call->branches.unanswered);
	redirect_release(&call->redirect);
	mem_deref(call->uac.ack);
	mem_deref(call->uac.ack_mb);
	mem_deref(call->uac.ack_name);
	mem_deref(call->uas.transaction);
	mem_deref(call->uas.invite);
	mem_deref(call->uas.ok_mb);
	mem_deref(call->session.remote);
	mem_deref(call->session.media);
	mem_deref(call->session.reported);
	mem_deref(call->dialog);
	mem_deref(call->digest);
	mem_deref(call->peer);
	mem_deref(call->uac.replaces_line);
	mem_deref(call->uas.replaces);
	/* keys of SRTP */
	if (call->session.sdp.data)
		explicit_bzero(call->session.sdp.data, call->session.sdp.used);
	mem_deref(call->session.local);
	buf_release(&call->session.sdp);
	originator_unref(call->origin);
}

/* Refresh the session. @return 0; -ENOTCONN; -EBUSY: try again later */
static int session_refresh(void *arg)
{
	struct sip_call *call = arg;

	if (call->state == CALL_UP)
		return call->handlers->refresh_h(call);
	return call->state == CALL_ENDING ? -ENOTCONN : -EBUSY;
}

static int session_expired(const char *reason, void *arg)
{
	struct sip_call *call = arg;

	if (call->state == CALL_ACCEPTED) /* no BYE before the ACK */
		return -EBUSY;
	if (call->state != CALL_UP)
		return 0;
	call_set_end(call, SIP_END_FAILED, true, 0, reason);
	call_bye(call);
	return 0;
}

int call_new(struct sip_call **ret, const struct call_user *user, bool outgoing,
	     const struct call_handlers *handlers)
{
	struct sip_call *call = mem_zalloc(sizeof(*call), call_destructor);
	int err;

	if (!call)
		return -ENOMEM;
	call->object = user->object;
	call->handlers = handlers;
	session_timer_init(&call->timer, &call->options, session_refresh,
			   session_expired, call);
	call->user = user;
	call->origin = originator_ref(user->origin);
	call->sip = originator_layer(call->origin);
	call->transport = transaction_layer_transport(call->sip);
	call->outgoing = outgoing;
	call->state = outgoing ? CALL_INVITING : CALL_INCOMING;
	call->session.id = random_u32() >> 1;
	call->session.version = 1;
	buf_init(&call->session.sdp, SDP_TEXT_MAX);
	err = call_event_init(&call->events, call,
			      transport_deferred(call->transport),
			      call->end.warning);
	if (!err)
		err = originator_digest(&call->digest, call->origin);
	if (err) {
		mem_deref(call);
		return err;
	}
	*ret = call;
	return 0;
}

void call_register(struct sip_call *call)
{
	call_table_add(call->user->table, call, &call->he,
		       dialog_callid(call->dialog));
}

void call_set_end(struct sip_call *call, enum sip_call_end end, bool local,
		  uint16_t code, const char *reason)
{
	call->end.how = end;
	call->end.local = local;
	call->end.code = code;
	call->end.mono_ns = 0;
	call->end.warning[0] = '\0';
	str_join(call->end.reason, sizeof(call->end.reason), reason, NULL);
}

void call_set_end_msg(struct sip_call *call, enum sip_call_end end,
		      const struct sip_msg *msg)
{
	char reason[REASON_BYTES];

	msg_line(reason, sizeof(reason), msg);
	call_set_end(call, end, false, msg->scode, reason);
	warning_read(call->end.warning, sizeof(call->end.warning), msg);
}

void call_close(struct sip_call *call)
{
	struct call_event *event = call->events.closed;

	if (!event)
		return;
	mem_ref(call); /* closing_h may release what held it */
	call->events.closed = NULL;
	call->handlers->closing_h(call);
	call->state = CALL_DONE;
	call->events.over = true;
	mono_timer_cancel(&call->end.tmr);
	mono_timer_cancel(&call->uac.tmr_ring);
	call->handlers->stop_h(call);
	session_timer_stop(&call->timer);
	event->event = SIP_CALL_CLOSED;
	event->mono_ns = call->end.mono_ns
				 ? call->end.mono_ns
				 : transport_event_ns(call->transport);
	event->local = call->end.local;
	event->code = call->end.code;
	event->end = call->end.how;
	event->bye_ok_ns = call->end.bye_ok_ns;
	str_join(event->reason, sizeof(event->reason), call->end.reason, NULL);
	call_event_append(&call->events, event);
	mem_deref(call);
}

struct dialog *call_dialog(const struct sip_call *call,
			   const struct sip_msg *msg)
{
	const struct early *early;

	if (dialog_match(call->dialog, msg))
		return call->dialog;
	early = early_find(&call->branches, msg);
	return early ? early->dialog : NULL;
}

static void end_handler(void *arg)
{
	call_close(arg); /* a transaction that still runs ends by itself */
}

static void call_bye_send(struct sip_call *call);

static void bye_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;

	if (!err && msg->scode < 200)
		return;
	if (!err && msg->scode < 300)
		call->end.bye_ok_ns = transport_received_ns(call->transport);
	if (!err && digest_asked(msg) &&
	    digest_challenge(call->digest, &call->end.bye_challenges, msg) == 0)
		call_bye_send(call);
	if (!call->end.bye)
		call_close(call);
	mem_deref(call);
}

static void call_bye_send(struct sip_call *call)
{
	const struct dialog_request_params request = {
		.method = "BYE",
		.resph = bye_response,
		.arg = call,
	};

	mem_ref(call);
	if (dialog_send(&call->end.bye, call->origin, call->dialog,
			call->digest, &request))
		mem_deref(call);
}

/* End an established call; how must have been set by call_set_end(). */
void call_bye(struct sip_call *call)
{
	if (call->state == CALL_ENDING || call->state == CALL_DONE)
		return;
	call->handlers->stop_h(call);
	session_timer_stop(&call->timer);
	call->state = CALL_ENDING;
	mono_timer_start(&call->end.tmr, DIALOG_END_WAIT_MS, end_handler, call);
	call->end.mono_ns = clock_mono_ns();
	call_bye_send(call);
	if (!call->end.bye)
		call_close(call);
}

struct call_event *call_established(struct sip_call *call, bool local,
				    uint16_t code, const char *refusal)
{
	struct call_event *event;

	call->state = CALL_UP;
	if (!refusal) {
		event = call_event(&call->events, SIP_CALL_ESTABLISHED, local,
				   transport_received_ns(call->transport));
		session_established(call);
		return event;
	}
	call->session.hold_known = true;
	call_set_end(call, SIP_END_FAILED, true, code, refusal);
	call_bye(call);
	return NULL;
}

int call_contact_handler(enum sip_transp tp, const struct sa *src,
			 const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)dst;

	return contact_write(mb, call->origin, src, tp);
}

uint32_t call_glare_ms(const struct sip_call *call)
{
	return call->outgoing ? 2100 + 10 * (random_u32() % 191)
			      : 10 * (random_u32() % 201);
}

const char *native_call_id(const struct sip_call *call)
{
	return dialog_callid(call->dialog);
}

const char *native_call_peer(const struct sip_call *call)
{
	return call->peer;
}
