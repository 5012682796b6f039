#include "sip/call/uas.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/replaces.h"
#include "sip/call/session_timer.h"
#include "sip/call/warning.h"
#include "sip/dialog/dialog.h"
#include "sip/message/error.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"
#include "sip/transaction/response.h"
#include "sip/transaction/retransmit.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

static void cancel_handler(void *arg)
{
	struct sip_call *call = arg;

	/* libre has answered the CANCEL itself. */
	(void)server_transaction_reply(&call->st, call->sip, call->msg, 487,
				       "Request Terminated");
	call_set_end(call, SIP_END_CANCELLED, false, 487,
		     "cancelled by the caller");
	call->end_ns = transport_received_ns(call->transport);
	call_close(call);
}

static void invite_refuse(struct sip_ua *ua, const struct sip_msg *msg,
			  uint16_t code, const char *phrase)
{
	(void)server_transaction_reply(NULL, ua->sip, msg, code, phrase);
}

static int incoming_make(struct sip_call **ret, struct sip_account *account,
			 const struct sip_msg *msg,
			 const struct call_handlers *handlers)
{
	struct sip_call *call;
	int err;

	err = call_new(&call, account, false, handlers);
	if (err)
		return err;
	call->msg = msg_ref(msg);
	call->invite_came_ns = transport_received_ns(call->transport);
	call->options = account->call_options;
	err = neg(pl_strdup(&call->peer, &msg->from.auri));
	if (!err)
		err = dialog_accept(&call->dialog, msg);
	if (err) {
		mem_deref(call);
		return err;
	}
	*ret = call;
	return 0;
}

/* The offer, or the wish for ours. @return 0; -errno with the reason */
static int offer_take(struct sip_call *call, const struct sip_msg *msg,
		      char *reason)
{
	int err = offer_answer_read(call, msg, reason);

	if (err == 1 || (!err && call->remote->has_audio))
		return 0;
	return err ? err : offer_answer_no_audio(call, reason);
}

/* @return false: it was refused */
static bool invite_take(struct sip_call *call, const struct sip_msg *msg)
{
	struct sip_ua *ua = call->ua;
	uint16_t code = replaces_take(call, msg);
	int err;

	if (code) {
		invite_refuse(ua, msg, code, response_phrase(code));
		return false;
	}
	if (!session_timer_asked(&call->timer, call->sip, msg))
		return false;
	err = server_transaction_new(&call->st, ua->sip, msg, cancel_handler,
				     call);
	if (err == -ENOBUFS)
		invite_refuse(ua, msg, 503, "Service Unavailable");
	else if (err)
		invite_refuse(ua, msg, 500, "Server Internal Error");
	return !err;
}

/* An INVITE that cannot be answered is a call that came and failed: its
 * account is told of it, may refuse it with a code of its own, and hears of
 * its end. */
static void offer_refuse(struct sip_call *call, int err, const char *reason)
{
	struct sip_account *account = call->account;

	mem_ref(call);
	call->refusing = true;
	account->incoming_h(account, call, account->arg);
	if (call->state == CALL_INCOMING)
		uas_refuse_offer(call, err, reason);
	mem_deref(call);
}

void uas_invite(struct sip_account *account, const struct sip_msg *msg,
		const struct call_handlers *handlers)
{
	struct sip_ua *ua = account->ua;
	char reason[REASON_BYTES] = "";
	struct sip_call *call;
	int err;

	err = incoming_make(&call, account, msg, handlers);
	if (err) {
		if (err == -EBADMSG)
			invite_refuse(ua, msg, 400, "Bad Contact");
		else
			invite_refuse(ua, msg, 500, "Server Internal Error");
		return;
	}
	if (!invite_take(call, msg)) {
		mem_deref(call);
		return;
	}
	call_register(call);
	session_timer_peer(&call->timer, msg);
	err = offer_take(call, msg, reason);
	if (err) {
		offer_refuse(call, err, reason);
		return;
	}
	(void)server_transaction_reply(&call->st, ua->sip, msg, 100, "Trying");
	if (call->remote) {
		call_event(call, SIP_CALL_REMOTE_SDP, false,
			   transport_received_ns(ua->transport));
		offer_answer_hold_events(call,
					 transport_received_ns(ua->transport));
	}
	account->incoming_h(account, call, account->arg);
}

static void ok_send_again(void *arg)
{
	struct sip_call *call = arg;

	(void)server_transaction_resend(call->sip, call->msg, call->ok_mb);
	call->ok_count++;
	mono_timer_start(&call->tmr_ok,
			 retransmit_interval_ms(call->ok_count, SIP_T2),
			 ok_send_again, call);
}

void uas_stop_timers(struct sip_call *call)
{
	mono_timer_cancel(&call->tmr_ok);
	mono_timer_cancel(&call->tmr_no_ack);
	if (!call->ok_mb)
		return;
	call->ok_mb = mem_deref(call->ok_mb);
	mem_deref(call); /* the reference of the wait for ACK */
}

static void no_ack_handler(void *arg)
{
	struct sip_call *call = arg;

	mem_ref(call);
	uas_stop_timers(call);
	call_set_end(call, SIP_END_FAILED, false, 0,
		     "no ACK for our 200 OK within 32 s");
	call->state = CALL_UP;
	call_bye(call);
	mem_deref(call);
}

/* 200 to INVITE or re-INVITE, repeated until its ACK (13.3.1.4). */
int uas_accept(struct sip_call *call, const struct sip_msg *msg, bool sdp)
{
	struct mbuf *mb = NULL;
	const struct uas_response response = {
		.msg = msg,
		.server = &call->st,
		.ret_mb = &mb,
		.code = 200,
		.reason = "OK",
		.routes = true,
		.timer = true,
		.sdp = sdp,
	};
	int err;

	uas_stop_timers(call);
	err = uas_respond(call, &response);
	if (err)
		return err;
	if (call->msg != msg) {
		mem_deref(call->msg);
		call->msg = msg_ref(msg);
	}
	call->ok_mb = mb;
	call->ok_count = 1;
	call->ok_cseq = msg->cseq.num;
	session_timer_run(&call->timer);
	mem_ref(call);
	mono_timer_start(&call->tmr_ok, SIP_T1, ok_send_again, call);
	mono_timer_start(&call->tmr_no_ack, (uint64_t)64 * SIP_T1,
			 no_ack_handler, call);
	return 0;
}

static void answer_events(struct sip_call *call, bool sdp)
{
	int64_t now = transport_sent_ns(call->transport);
	struct call_event *event;

	if (sdp) {
		event = call_event(call, SIP_CALL_LOCAL_SDP, true, now);
		if (!call->answer_in_ack)
			offer_answer_event_media(call, event);
	}
	event = call_event(call, SIP_CALL_ANSWERED, true, now);
	if (event) {
		event->code = 200;
		(void)str_copy(event->reason, sizeof(event->reason), "OK");
	}
}

/* Our part of offer/answer, if a provisional response did not have it. */
static int answer_describe(struct sip_call *call, char *reason)
{
	enum media_direction direction = call->local.direction;

	if (call->early_answer || call->reliable.answered)
		return 0;
	call->answer_in_ack = !call->remote;
	return call->answer_in_ack
		       ? offer_answer_new_offer(call, direction)
		       : offer_answer_new_answer(call, direction, reason);
}

void uas_answer(struct sip_call *call)
{
	/* RFC 3262 section 5: a reliable answer is not repeated. */
	bool sdp = !call->reliable.answered;
	char reason[REASON_BYTES] = "";
	int err = answer_describe(call, reason);

	if (err && reason[0]) {
		uas_refuse_offer(call, err, reason);
		return;
	}
	if (!err)
		err = uas_accept(call, call->msg, sdp);
	if (err) {
		call_set_end(call, SIP_END_FAILED, true, 0,
			     "200 OK could not be sent");
		call_close(call);
		return;
	}
	call->state = CALL_ACCEPTED;
	answer_events(call, sdp);
	replaces_done(call);
}

int64_t native_call_came_ns(const struct sip_call *call)
{
	return call->invite_came_ns;
}

int native_call_answer(struct sip_call *call, const struct media_local *media)
{
	int err;

	if (call->state != CALL_INCOMING || !call->st)
		return -EINVAL;
	if (call->refusing)
		return 0;
	err = offer_answer_local_set(call, media);
	if (err)
		return err;
	if (call->reliable.mb)
		call->reliable.answer_next = true;
	else
		uas_answer(call);
	return 0;
}

/* The answer to an offer in our 2xx. @return 0; -errno with the reason */
static int ack_answer(struct sip_call *call, const struct sip_msg *msg,
		      char *reason)
{
	if (!call->answer_in_ack)
		return 0;
	call->answer_in_ack = false;
	return offer_answer_conclude(
		call, msg, "the ACK has no SDP to answer our offer", reason);
}

/* A proxy may let a re-INVITE overtake the ACK: the peer has our 2xx then
 * (RFC 5407 3.1.5), and its ACK means nothing more. */
void uas_ack_overtaken(struct sip_call *call)
{
	struct call_event *event;

	if (call->state != CALL_ACCEPTED)
		return;
	event = call_established(call, false, 0, NULL);
	if (event)
		(void)str_copy(event->reason, sizeof(event->reason),
			       "a re-INVITE came before the ACK");
}

void uas_ack(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	bool first = call->state == CALL_ACCEPTED;
	int err;

	if (!call->ok_mb || msg->cseq.num != call->ok_cseq)
		return;
	mem_ref(call);
	uas_stop_timers(call);
	if (call->state == CALL_ENDING || call->state == CALL_DONE)
		goto out;
	err = ack_answer(call, msg, reason);
	if (first || err)
		(void)call_established(call, false, 0, err ? reason : NULL);
	if (call->bye_after_ack && call->state == CALL_UP) {
		call_set_end(call, SIP_END_LOCAL, true, 0, "hung up by us");
		call_bye(call);
	}
out:
	mem_deref(call);
}

void uas_bye(struct sip_call *call, const struct sip_msg *msg)
{
	mem_ref(call);
	(void)server_transaction_reply(NULL, call->sip, msg, 200, "OK");
	if (call->state == CALL_INCOMING) {
		(void)server_transaction_reply(&call->st, call->sip, call->msg,
					       487, "Request Terminated");
		call_set_end(call, SIP_END_CANCELLED, false, 487,
			     "ended by the caller");
	} else if (call->state == CALL_ACCEPTED || call->state == CALL_UP) {
		call_set_end(call, SIP_END_REMOTE, false, 0,
			     "hung up by the peer");
	} else {
		goto out; /* BYE crossed ours: the answer to it closes */
	}
	call->end_ns = transport_received_ns(call->transport);
	uas_stop_timers(call);
	call_close(call);
out:
	mem_deref(call);
}
