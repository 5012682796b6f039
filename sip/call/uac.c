#include "sip/call/uac.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/extensions.h"
#include "sip/call/fork.h"
#include "sip/call/in_dialog.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/redirect.h"
#include "sip/call/session_timer.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transport/hop.h"
#include "sip/transport/transport.h"

/* RFC 3261 16.6: a proxy's timer C is longer than three minutes. */
#define RING_TIMEOUT_S 180

int uac_invite_send(struct sip_call *call,
		    struct dialog_request_params *request)
{
	const struct extensions_invite_params first = {
		.replaces_line = call->uac.replaces_line,
	};
	char *headers;
	int err;

	err = extensions_request(&headers, &call->options, &call->timer,
				 call->state == CALL_INVITING ? &first : NULL);
	if (err)
		return err;
	request->headers = headers;
	mem_ref(call);
	err = dialog_send(&call->uac.request, call->origin, call->dialog,
			  call->digest, request);
	mem_deref(headers);
	if (err)
		mem_deref(call);
	return err;
}

int uac_invite(struct sip_call *call)
{
	struct dialog_request_params request = {
		.method = "INVITE",
		.sdp = call->options.late_offer ? NULL : &call->session.sdp,
		.sendh = call_contact_handler,
		.resph = uac_response,
		.arg = call,
	};

	return uac_invite_send(call, &request);
}

void uac_sent(struct sip_call *call, int64_t mono_ns)
{
	if (call->uac.sent_ns)
		return;
	call->uac.sent_ns = mono_ns;
	call_event(&call->events, SIP_CALL_OUTGOING, true, mono_ns);
	if (!call->options.late_offer)
		call_event(&call->events, SIP_CALL_LOCAL_SDP, true, mono_ns);
}

/* Keep the ACK, which is completed after this handler, for a repeated 2xx. */
static int ack_send_handler(enum sip_transp tp, const struct sa *src,
			    const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)src;

	mem_deref(call->uac.ack_mb);
	call->uac.ack_mb = mem_ref(mb);
	call->uac.ack_dst = *dst;
	call->uac.ack_tp = tp;
	call->uac.ack_name = mem_deref(call->uac.ack_name);
	if (tp == SIP_TRANSP_TLS)
		(void)dialog_tls_name(&call->uac.ack_name, call->origin,
				      call->dialog);
	return 0;
}

int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp)
{
	const struct dialog_request_params request = {
		.method = "ACK",
		.ack_cseq = cseq,
		.sdp = sdp,
		.sendh = ack_send_handler,
		.arg = call,
	};

	call->uac.ack = mem_deref(call->uac.ack);
	call->uac.ack_cseq = cseq;
	return dialog_send(&call->uac.ack, call->origin, call->dialog,
			   call->digest, &request);
}

void uac_ack_again(struct sip_call *call, const struct sip_msg *msg)
{
	const struct hop hop = {
		.tp = call->uac.ack_tp,
		.addr = call->uac.ack_dst,
		.tls = originator_tls(call->origin),
		.name = call->uac.ack_name,
	};

	if (call->uac.ack_mb && msg->cseq.num == call->uac.ack_cseq)
		(void)transport_send(call->transport, &hop, call->uac.ack_mb,
				     NULL);
}

static void cancel_timeout(void *arg)
{
	call_close(arg); /* the transaction ends by itself */
}

void uac_cancel(struct sip_call *call)
{
	call->state = CALL_ENDING;
	mono_timer_cancel(&call->uac.tmr_ring);
	mono_timer_start(&call->end.tmr, DIALOG_END_WAIT_MS, cancel_timeout,
			 call);
	if (call->uac.request)
		client_request_cancel(call->uac.request);
	else
		call_close(call);
}

static void ring_handler(void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	if (call->state != CALL_INVITING)
		return;
	str_print(reason, sizeof(reason), "no final answer within %u s",
		  call->options.ring_timeout_s);
	call_set_end(call, SIP_END_FAILED, true, 0, reason);
	uac_cancel(call);
}

int uac_dial(struct sip_call **ret, const struct call_user *user,
	     const struct sip_call_params *params,
	     const struct call_handlers *handlers)
{
	char reason[REASON_BYTES];
	struct sip_call *call;
	int err;

	if (call_table_is_full(user->table))
		return -EAGAIN;
	err = call_new(&call, user, true, handlers);
	if (err)
		return err;
	call->events.handler = params->call_h;
	call->events.arg = params->arg;
	if (params->options)
		call->options = *params->options;
	if (call->options.ring_timeout_s == 0)
		call->options.ring_timeout_s = RING_TIMEOUT_S;
	err = offer_answer_local_set(call, params->media);
	if (!err)
		err = peer_uri(&call->peer, call->origin, params->uri);
	if (!err && params->replaces)
		err = header_text_valid(params->replaces)
			      ? text_print(&call->uac.replaces_line,
					   "Require: replaces\r\n"
					   "Replaces: %s\r\n",
					   params->replaces)
			      : -EINVAL;
	if (!err)
		err = dialog_new(&call->dialog, call->origin, call->peer,
				 call->peer);
	if (!err && params->headers)
		err = dialog_set_headers(call->dialog, params->headers,
					 params->header_count);
	if (!err && !call->options.late_offer)
		err = offer_answer_new_offer(
			call, offer_answer_local(call)->direction);
	if (err) {
		mem_deref(call);
		return err;
	}
	call_register(call);
	mono_timer_start(&call->uac.tmr_ring,
			 (uint64_t)call->options.ring_timeout_s * 1000,
			 ring_handler, call);
	err = uac_invite(call);
	if (err) {
		originator_failure(reason, sizeof(reason), call->origin, -err);
		call_set_end(call, SIP_END_FAILED, false, 0, reason);
		call_close(call);
	}
	*ret = call;
	return 0;
}

/* ---- the responses to our INVITE ---- */

/* Take the SDP of a provisional response: the answer to our offer (13.2.1,
 * also if the response is not reliable), or the peer's offer if our INVITE
 * had none, which only a reliable response may carry. @return 1: our answer
 * is in call->session.sdp; 0 */
static int early_describe(struct sip_call *call, struct early *early,
			  const struct sip_msg *msg, bool reliable)
{
	char reason[REASON_BYTES];
	int r = 0;

	if (offer_answer_empty(msg) || early->settled)
		return 0;
	if (call->options.late_offer) {
		if (!reliable || offer_answer_offered(call, msg, reason) != 0)
			return 0;
		call_event(&call->events, SIP_CALL_REMOTE_SDP, false,
			   transport_received_ns(call->transport));
		r = 1;
	} else if (offer_answer_read(call, msg, reason) ||
		   offer_answer_accept(call, reason)) {
		return 0;
	} else if (offer_answer_news(call)) {
		offer_answer_event_media(
			call,
			call_event(&call->events, SIP_CALL_REMOTE_SDP, false,
				   transport_received_ns(call->transport)));
	}
	offer_answer_hold_events(call, transport_received_ns(call->transport));
	mem_deref(early->remote);
	early->remote = mem_ref(call->session.remote);
	early->answered = true;
	early->settled = reliable;
	return r;
}

/* @return false: the response is repeated, or an earlier one is missing (RFC
 * 3262 section 4) */
static bool in_sequence(struct early *early, const struct sip_msg *msg)
{
	uint32_t rseq = pl_u32(&sip_msg_hdr(msg, SIP_HDR_RSEQ)->val);

	if (early->has_rseq && rseq != early->rseq + 1)
		return false;
	early->has_rseq = true;
	early->rseq = rseq;
	return true;
}

/* @return false: the response is ignored */
static bool provisional_take(struct sip_call *call, const struct sip_msg *msg)
{
	struct early *early = early_take(&call->branches, call->dialog, msg);
	bool reliable = early && in_dialog_needs_prack(call, msg);
	int answer;

	if (!early)
		return true; /* it makes no dialog, but is reported */
	if (reliable && !in_sequence(early, msg))
		return false;
	answer = early_describe(call, early, msg, reliable);
	if (reliable &&
	    in_dialog_prack(call, early, msg,
			    answer ? &call->session.sdp : NULL) == 0 &&
	    answer)
		offer_answer_event_media(
			call,
			call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
				   transport_sent_ns(call->transport)));
	return true;
}

/* 101 to 199 */
static void provisional(struct sip_call *call, const struct sip_msg *msg)
{
	int64_t now = transport_received_ns(call->transport);
	struct call_event *event;

	if (msg->scode <= 100 || call->state != CALL_INVITING ||
	    !provisional_take(call, msg))
		return;
	if (msg->scode < 180 || msg->scode == call->uac.last_provisional)
		return;
	call->uac.last_provisional = msg->scode;
	event = call_event(&call->events,
			   msg->scode == 180 ? SIP_CALL_RINGING
					     : SIP_CALL_PROGRESS,
			   false, now);
	call_event_reason(event, msg);
}

/* The answer that came with a provisional response of the same branch. */
static int early_answer_take(struct sip_call *call, struct early *early,
			     char *reason)
{
	int err;

	if (call->session.remote == early->remote)
		return 0;
	mem_deref(call->session.remote);
	call->session.remote = mem_ref(early->remote);
	err = offer_answer_accept(call, reason);
	if (err)
		return err;
	offer_answer_event_media(
		call, call_event(&call->events, SIP_CALL_REMOTE_SDP, false,
				 transport_received_ns(call->transport)));
	offer_answer_hold_events(call, transport_received_ns(call->transport));
	return 0;
}

/* @return 1: the ACK must carry our answer; 0; -errno with the reason why
 * the call fails */
static int answer_take(struct sip_call *call, struct early *early,
		       const struct sip_msg *msg, char *reason)
{
	int err;

	if (early && early->settled && call->options.late_offer)
		return 0;
	if (early && early->answered &&
	    (early->settled || offer_answer_empty(msg)))
		return early_answer_take(call, early, reason);
	if (!call->options.late_offer)
		return offer_answer_conclude(call, msg, "the answer has no SDP",
					     reason);
	err = offer_answer_offered(call, msg, reason);
	if (err == 0)
		return 1;
	if (err == 1)
		str_print(reason, REASON_BYTES,
			  "the 2xx has no SDP, which had to be the offer");
	else if (!reason[0])
		str_print(reason, REASON_BYTES,
			  "the offer in the 2xx cannot be answered");
	return -EBADMSG;
}

/* Acknowledge the 2xx: the call is up, or ends at once. */
static void acknowledge(struct sip_call *call, const struct sip_msg *msg,
			int answer, const char *reason)
{
	struct call_event *event;

	event = call_event(&call->events, SIP_CALL_ANSWERED, false,
			   transport_received_ns(call->transport));
	call_event_reason(event, msg);
	(void)uac_ack(call, msg->cseq.num,
		      answer == 1 ? &call->session.sdp : NULL);
	if (answer == 1)
		offer_answer_answered(call);
	event = call_established(call, true, msg->scode,
				 answer < 0 ? reason : NULL);
	call_event_reason(event, msg);
}

/* We hung up. The INVITE may get its final response after the end was reported
 * (CALL_DONE), until timer B. */
static bool hung_up(const struct sip_call *call)
{
	return call->state == CALL_ENDING || call->state == CALL_DONE;
}

/* A 2xx after we hung up: the peer takes the call for established. */
static void answered_after_hangup(struct sip_call *call,
				  const struct sip_msg *msg)
{
	bool done = call->state == CALL_DONE;

	(void)uac_ack(call, msg->cseq.num, NULL);
	call->state = CALL_UP;
	call_bye(call);
	if (done)
		call->state = CALL_DONE;
}

static void answered(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	struct early *early;
	int err;

	mono_timer_cancel(&call->uac.tmr_ring);
	err = dialog_establish(call->dialog, msg);
	if (err) {
		/* Without a target neither ACK nor BYE can be sent. */
		if (!hung_up(call))
			call_set_end(call, SIP_END_FAILED, false, msg->scode,
				     "the 2xx to INVITE has no usable "
				     "Contact or To tag");
		call_close(call);
		return;
	}
	early = mem_ref(early_find(&call->branches, msg));
	early_confirm(&call->branches, call->dialog, msg);
	if (hung_up(call)) {
		answered_after_hangup(call, msg);
		goto out;
	}
	call->handlers->early_end_h(call, "another branch answered the INVITE");
	err = answer_take(call, early, msg, reason);
	acknowledge(call, msg, err, reason);
	if (call->state != CALL_UP)
		goto out;
	session_timer_peer(&call->timer, msg);
	session_timer_answered(&call->timer, msg);
out:
	mem_deref(early);
}

/* An INVITE to the next target of a redirection. @return 0; -errno */
static int redirect_invite(struct sip_call *call)
{
	struct call_event *event;
	char *uri;
	int err = redirect_next(&uri, &call->redirect,
				call->options.redirects_max);

	if (err)
		return err;
	err = dialog_retarget(call->dialog, call->origin, uri);
	if (err)
		return err;
	list_flush(&call->branches.early);
	call->handlers->early_end_h(call, "the INVITE was redirected");
	call->uac.last_provisional = 0;
	call->uac.challenges = 0;
	event = call_event(&call->events, SIP_CALL_REDIRECTED, false,
			   transport_event_ns(call->transport));
	if (event)
		event->target = mem_ref(uri);
	return uac_invite(call);
}

/* @return true: an INVITE to another target was sent */
static bool redirected(struct sip_call *call)
{
	int err;

	do {
		err = redirect_invite(call);
	} while (err && err != -ENOENT && err != -ELOOP);
	return !err;
}

/* A 3xx (8.1.3.4). */
static void redirection(struct sip_call *call, const struct sip_msg *msg)
{
	uint32_t max = call->options.redirects_max;
	char reason[REASON_BYTES];

	if (max > 0) {
		redirect_take(&call->redirect, dialog_target(call->dialog),
			      msg);
		if (redirected(call))
			return;
	}
	redirect_reason(reason, &call->redirect, max, msg);
	call_set_end(call, SIP_END_REJECTED, false, msg->scode, reason);
	call_close(call);
}

static void refused(struct sip_call *call, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];
	int err;

	if (hung_up(call)) { /* 487 to our CANCEL, mostly */
		call->end.code = msg->scode;
		call_close(call);
		return;
	}
	if (msg->scode == 422 && session_timer_raise(&call->timer, msg) &&
	    uac_invite(call) == 0)
		return;
	if (msg->scode / 100 == 3) {
		redirection(call, msg);
		return;
	}
	if (!digest_asked(msg)) {
		if (msg->scode < 600 && redirected(call))
			return;
		call_set_end_msg(call, SIP_END_REJECTED, msg);
		call_close(call);
		return;
	}
	err = digest_challenge(call->digest, &call->uac.challenges, msg);
	if (!err)
		err = uac_invite(call);
	if (err) {
		digest_reason(reason, sizeof(reason), err, msg);
		call_set_end(call, SIP_END_REJECTED, false, msg->scode, reason);
		call_close(call);
	}
}

static void no_answer_reason(const struct sip_call *call, char *reason, int err)
{
	if (redirect_happened(&call->redirect) &&
	    dialog_bypasses_target(call->dialog, call->origin))
		originator_failure_at(reason, REASON_BYTES, call->origin,
				      dialog_target(call->dialog), err);
	else
		originator_failure(reason, REASON_BYTES, call->origin, err);
}

void uac_response(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200) {
		provisional(call, msg);
		return;
	}
	if (err && call->state == CALL_INVITING && redirected(call)) {
		mem_deref(call);
		return;
	}
	if (err) {
		if (!hung_up(call)) {
			no_answer_reason(call, reason, err);
			call_set_end(call, SIP_END_FAILED, false, 0, reason);
		}
		call_close(call);
	} else if (msg->scode < 300) {
		answered(call, msg);
	} else {
		refused(call, msg);
	}
	mem_deref(call);
}
