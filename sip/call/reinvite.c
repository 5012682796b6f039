#include "sip/call/reinvite.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/session_timer.h"
#include "sip/call/uac.h"
#include "sip/call/uas.h"
#include "sip/call/update.h"
#include "sip/call/warning.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/transaction/client_transaction.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

/* From the first provisional response to CANCEL: that of timer C, which only
 * proxies have (RFC 3261 16.6). */
#define REINVITE_TIMEOUT_S 180

static int reinvite_send(struct sip_call *call);

void reinvite_stop(struct sip_call *call)
{
	mono_timer_cancel(&call->reinvite.tmr);
	call->reinvite.pending = false;
	/* the response to the INVITE that began the call is still needed */
	if (call->uac.request && call->session.hold_known) {
		call->uac.request = mem_deref(call->uac.request);
		mem_deref(call);
	}
}

static void reinvite_failed(struct sip_call *call, uint16_t code,
			    const char *reason)
{
	struct call_event *event;

	call->reinvite.pending = false;
	if (call->reinvite.refreshes)
		return;
	event = call_event(&call->events, SIP_CALL_REINVITE_FAIL, false,
			   transport_event_ns(call->transport));
	if (event) {
		event->code = code;
		str_print(event->reason, sizeof(event->reason), "%s", reason);
	}
}

static void retry_handler(void *arg)
{
	struct sip_call *call = arg;

	if (reinvite_send(call))
		reinvite_failed(call, 0, "the re-INVITE could not be sent");
}

/* 491: both sides sent an offer at the same time (RFC 3261 14.1). */
static void glare(struct sip_call *call)
{
	call->reinvite.retried = true;
	mono_timer_start(&call->reinvite.tmr, call_glare_ms(call),
			 retry_handler, call);
}

static void reinvite_answered(struct sip_call *call, const struct sip_msg *msg)
{
	int64_t now = transport_received_ns(call->transport);
	char reason[REASON_BYTES] = "";
	struct call_event *event;
	int err;

	dialog_refresh(call->dialog, msg);
	(void)uac_ack(call, msg->cseq.num, NULL);
	call->reinvite.pending = false;
	err = offer_answer_conclude(
		call, msg, "the answer to our re-INVITE has no SDP", reason);
	if (err) {
		call_set_end(call, SIP_END_FAILED, true, msg->scode, reason);
		call_bye(call);
		return;
	}
	call->session.held = call->reinvite.hold;
	session_timer_peer(&call->timer, msg);
	session_timer_answered(&call->timer, msg);
	if (call->reinvite.refreshes)
		return;
	if (call->reinvite.unchanged)
		event = call_event(&call->events, SIP_CALL_REINVITED, true,
				   now);
	else
		event = call_event(&call->events,
				   call->session.held ? SIP_CALL_HELD
						      : SIP_CALL_RESUMED,
				   true, now);
	call_event_reason(event, msg);
}

static void reinvite_refused(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];
	int err;

	msg_line(reason, sizeof(reason), msg);
	switch (msg->scode) {
	case 401:
	case 407:
		err = digest_challenge(call->digest, &call->uac.challenges,
				       msg);
		if (!err && reinvite_send(call) == 0)
			return;
		digest_reason(reason, sizeof(reason), err, msg);
		break;
	case 422:
		if (session_timer_raise(&call->timer, msg) &&
		    reinvite_send(call) == 0)
			return;
		break;
	case 491:
		if (call->reinvite.retried)
			break;
		glare(call);
		return;
	case 487:
		if (call->reinvite.cancelled)
			str_print(reason, sizeof(reason),
				  "no final answer within %u s",
				  REINVITE_TIMEOUT_S);
		break;
	case 408: /* the dialog is gone (12.2.1.2) */
	case 481:
		reinvite_failed(call, msg->scode, reason);
		str_print(reason, sizeof(reason), "%u to our re-INVITE",
			  msg->scode);
		call_set_end(call, SIP_END_FAILED, true, msg->scode, reason);
		call_bye(call);
		return;
	default:
		break;
	}
	reinvite_failed(call, msg->scode, reason);
}

/* After the CANCEL the transaction ends with a final response or, as without
 * any response, within 32 s. */
static void unanswered_handler(void *arg)
{
	struct sip_call *call = arg;

	call->reinvite.cancelled = true;
	client_request_cancel(call->uac.request);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;

	if (!err && msg->scode < 200) {
		/* a provisional response stops timers A and B (RFC 3261
		 * 17.1.1.2): without a timer of ours we would wait for the
		 * final response for ever */
		if (!mono_timer_running(&call->reinvite.tmr))
			mono_timer_start(&call->reinvite.tmr,
					 REINVITE_TIMEOUT_S * UINT64_C(1000),
					 unanswered_handler, call);
		return;
	}
	mono_timer_cancel(&call->reinvite.tmr);
	if (err) {
		reinvite_failed(call, 0, "no answer to our re-INVITE");
		call_set_end(call, SIP_END_FAILED, true, 0,
			     "no answer to our re-INVITE");
		call_bye(call);
	} else if (msg->scode < 300) {
		reinvite_answered(call, msg);
	} else {
		reinvite_refused(call, msg);
	}
	mem_deref(call);
}

static int reinvite_send(struct sip_call *call)
{
	struct dialog_request_params request = {
		.method = "INVITE",
		.sdp = &call->session.sdp,
		.sendh = call_contact_handler,
		.resph = response_handler,
		.arg = call,
	};
	int err;

	call->reinvite.cancelled = false;
	/* the peer may have changed the session since our last try */
	err = offer_answer_new_offer(
		call, offer_answer_wanted(call, call->reinvite.hold));
	if (!err)
		err = uac_invite_send(call, &request);
	if (err)
		return err;
	call_event(&call->events, SIP_CALL_LOCAL_SDP, true, clock_mono_ns());
	return 0;
}

static int reinvite_begin(struct sip_call *call, bool hold, bool plain,
			  bool refreshes)
{
	int err;

	if (call->state != CALL_UP)
		return -ENOTCONN;
	if (call->reinvite.pending || call->uas.ok_mb || call->update)
		return -EBUSY;
	if (call->session.held == hold && !plain)
		return -EALREADY;
	call->reinvite.pending = true;
	call->reinvite.hold = hold;
	call->reinvite.unchanged = plain;
	call->reinvite.refreshes = refreshes;
	call->reinvite.retried = false;
	call->uac.challenges = 0;
	err = reinvite_send(call);
	if (err)
		call->reinvite.pending = false;
	return err;
}

int native_call_hold(struct sip_call *call)
{
	return reinvite_begin(call, true, false, false);
}

int native_call_resume(struct sip_call *call)
{
	return reinvite_begin(call, false, false, false);
}

int native_call_reinvite(struct sip_call *call)
{
	return reinvite_begin(call, call->session.held, true, false);
}

int reinvite_refresh(struct sip_call *call)
{
	return reinvite_begin(call, call->session.held, true, true);
}

static void refuse(struct sip_call *call, const struct sip_msg *msg,
		   uint16_t code, const char *phrase)
{
	(void)server_transaction_reply(NULL, call->sip, msg, code, phrase);
}

/* Answer the peer's offer; a re-INVITE without one gets our offer. */
static int reinvite_describe(struct sip_call *call, const struct sip_msg *msg,
			     char *reason)
{
	int err = offer_answer_offered(call, msg, reason);

	if (err != 1)
		return err;
	err = offer_answer_new_offer(
		call, offer_answer_wanted(call, call->session.held));
	call->uas.answer_in_ack = !err;
	return err;
}

void reinvite_received(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	int err;

	if (call->state == CALL_INCOMING || call->uas.answer_in_ack) {
		(void)server_transaction_replyf(NULL, NULL, call->sip, msg,
						false, 500,
						"Server Internal Error",
						"Retry-After: 5\r\n"
						"Content-Length: 0\r\n\r\n");
		return;
	}
	if (call->state != CALL_UP && call->state != CALL_ACCEPTED) {
		refuse(call, msg, 481, "Call/Transaction Does Not Exist");
		return;
	}
	if (call->uac.request || update_offers(call)) {
		refuse(call, msg, 491, "Request Pending");
		return;
	}
	if (!session_timer_asked(&call->timer, call->sip, msg))
		return;
	session_timer_peer(&call->timer, msg);
	err = reinvite_describe(call, msg, reason);
	if (err) {
		warning_refuse(NULL, call->sip, msg, err,
			       reason[0] ? reason : NULL);
		return;
	}
	dialog_refresh(call->dialog, msg);
	mem_ref(call);
	uas_ack_overtaken(call);
	err = uas_accept(call, msg, true);
	if (!err && !call->uas.answer_in_ack)
		offer_answer_answered(call);
	else if (!err)
		call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
			   transport_sent_ns(call->transport));
	mem_deref(call);
}
