#include "sip/call/uas.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_user.h"
#include "sip/call/extensions.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/reliable_provisional.h"
#include "sip/call/session_timer.h"
#include "sip/call/transfer.h"
#include "sip/call/warning.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/error.h"
#include "sip/message/headers.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"
#include "sip/transaction/response.h"
#include "sip/transaction/retransmit.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

static void cancel_handler(void *arg)
{
	struct sip_call *call = arg;

	/* the CANCEL itself is answered already */
	(void)server_transaction_reply(&call->uas.transaction, call->sip,
				       call->uas.invite, 487,
				       "Request Terminated");
	call_set_end(call, SIP_END_CANCELLED, false, 487,
		     "cancelled by the caller");
	call->end.mono_ns = transport_received_ns(call->transport);
	call_close(call);
}

static void invite_refuse(struct transaction_layer *layer,
			  const struct sip_msg *msg, uint16_t code,
			  const char *phrase)
{
	(void)server_transaction_reply(NULL, layer, msg, code, phrase);
}

static int incoming_make(struct sip_call **ret, const struct call_user *user,
			 const struct sip_msg *msg,
			 const struct call_handlers *handlers)
{
	struct sip_call *call;
	int err;

	err = call_new(&call, user, false, handlers);
	if (err)
		return err;
	call->uas.invite = msg_ref(msg);
	call->uas.came_ns = transport_received_ns(call->transport);
	call->options = user->incoming_options;
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

/* Read the offer; an INVITE may have none. @return 0; -errno with the reason */
static int offer_take(struct sip_call *call, const struct sip_msg *msg,
		      char *reason)
{
	int err = offer_answer_read(call, msg, reason);

	if (err == 1 || (!err && call->session.remote->has_audio))
		return 0;
	return err ? err : offer_answer_no_audio(call, reason);
}

/* @return false: it was refused */
static bool invite_take(struct sip_call *call, const struct sip_msg *msg)
{
	uint16_t code = transfer_replaces(call, msg);
	int err;

	if (code) {
		invite_refuse(call->sip, msg, code, response_phrase(code));
		return false;
	}
	if (!session_timer_asked(&call->timer, call->sip, msg))
		return false;
	err = server_transaction_new(&call->uas.transaction, call->sip, msg,
				     cancel_handler, call);
	if (err == -ENOBUFS)
		invite_refuse(call->sip, msg, 503, "Service Unavailable");
	else if (err)
		invite_refuse(call->sip, msg, 500, "Server Internal Error");
	return !err;
}

/* An INVITE with an unusable offer is still reported as an incoming call:
 * the account may refuse it with its own code, and gets SIP_CALL_CLOSED. */
static void offer_refuse(struct sip_call *call, int err, const char *reason)
{
	mem_ref(call);
	call->uas.offer_unusable = true;
	call->user->incoming_h(call, call->user->arg);
	if (call->state == CALL_INCOMING)
		uas_refuse_offer(call, err, reason);
	mem_deref(call);
}

void uas_invite(const struct call_user *user, const struct sip_msg *msg,
		const struct call_handlers *handlers)
{
	struct transaction_layer *layer = originator_layer(user->origin);
	char reason[REASON_BYTES] = "";
	struct sip_call *call;
	int err;

	err = incoming_make(&call, user, msg, handlers);
	if (err) {
		if (err == -EBADMSG)
			invite_refuse(layer, msg, 400, "Bad Contact");
		else
			invite_refuse(layer, msg, 500, "Server Internal Error");
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
	(void)server_transaction_reply(&call->uas.transaction, layer, msg, 100,
				       "Trying");
	if (call->session.remote) {
		call_event(&call->events, SIP_CALL_REMOTE_SDP, false,
			   transport_received_ns(call->transport));
		offer_answer_hold_events(
			call, transport_received_ns(call->transport));
	}
	call->user->incoming_h(call, call->user->arg);
}

static void ok_send_again(void *arg)
{
	struct sip_call *call = arg;

	(void)server_transaction_resend(call->sip, call->uas.invite,
					call->uas.ok_mb);
	call->uas.ok_count++;
	mono_timer_start(&call->uas.tmr_ok,
			 retransmit_interval_ms(call->uas.ok_count, SIP_T2),
			 ok_send_again, call);
}

void uas_stop_timers(struct sip_call *call)
{
	mono_timer_cancel(&call->uas.tmr_ok);
	mono_timer_cancel(&call->uas.tmr_no_ack);
	if (!call->uas.ok_mb)
		return;
	call->uas.ok_mb = mem_deref(call->uas.ok_mb);
	mem_deref(call); /* the reference that the wait for ACK held */
}

static void no_ack_handler(void *arg)
{
	struct sip_call *call = arg;

	mem_ref(call);
	uas_stop_timers(call);
	if (call->state == CALL_ACCEPTED || call->state == CALL_UP) {
		call_set_end(call, SIP_END_FAILED, false, 0,
			     "no ACK for our 200 OK within 32 s");
		call->state = CALL_UP;
		call_bye(call);
	}
	mem_deref(call);
}

/* 200 to INVITE or re-INVITE, retransmitted until its ACK comes (13.3.1.4). */
int uas_accept(struct sip_call *call, const struct sip_msg *msg, bool sdp)
{
	struct mbuf *mb = NULL;
	const struct uas_response response = {
		.msg = msg,
		.server = &call->uas.transaction,
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
	if (call->uas.invite != msg) {
		mem_deref(call->uas.invite);
		call->uas.invite = msg_ref(msg);
	}
	call->uas.ok_mb = mb;
	call->uas.ok_count = 1;
	call->uas.ok_cseq = msg->cseq.num;
	session_timer_run(&call->timer);
	mem_ref(call);
	mono_timer_start(&call->uas.tmr_ok, SIP_T1, ok_send_again, call);
	mono_timer_start(&call->uas.tmr_no_ack, (uint64_t)64 * SIP_T1,
			 no_ack_handler, call);
	return 0;
}

static void answer_events(struct sip_call *call, bool sdp)
{
	int64_t now = transport_sent_ns(call->transport);
	struct call_event *event;

	if (sdp) {
		event = call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
				   now);
		if (!call->uas.answer_in_ack)
			offer_answer_event_media(call, event);
	}
	event = call_event(&call->events, SIP_CALL_ANSWERED, true, now);
	if (event) {
		event->code = 200;
		(void)str_copy(event->reason, sizeof(event->reason), "OK");
	}
}

/* Make our offer or answer for the 2xx, unless a provisional response had
 * it. */
static int answer_describe(struct sip_call *call, char *reason)
{
	enum media_direction direction = offer_answer_local(call)->direction;

	if (call->session.early_answer || call->reliable.answered)
		return 0;
	call->uas.answer_in_ack = !call->session.remote;
	return call->uas.answer_in_ack
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
		err = uas_accept(call, call->uas.invite, sdp);
	if (err) {
		call_set_end(call, SIP_END_FAILED, true, 0,
			     "200 OK could not be sent");
		call_close(call);
		return;
	}
	call->state = CALL_ACCEPTED;
	answer_events(call, sdp);
	transfer_replace(call);
}

int64_t native_call_came_ns(const struct sip_call *call)
{
	return call->uas.came_ns;
}

int native_call_answer(struct sip_call *call, const struct media_local *media)
{
	int err;

	if (call->state != CALL_INCOMING || !call->uas.transaction)
		return -EINVAL;
	if (call->uas.offer_unusable)
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
	if (!call->uas.answer_in_ack)
		return 0;
	call->uas.answer_in_ack = false;
	return offer_answer_conclude(
		call, msg, "the ACK has no SDP to answer our offer", reason);
}

/* A re-INVITE may overtake the ACK (RFC 5407 3.1.5): the peer has our 2xx,
 * so the call is up; the ACK is not needed any more. */
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

	if (!call->uas.ok_mb || msg->cseq.num != call->uas.ok_cseq)
		return;
	mem_ref(call);
	uas_stop_timers(call);
	if (call->state == CALL_ENDING || call->state == CALL_DONE)
		goto out;
	err = ack_answer(call, msg, reason);
	if (first || err)
		(void)call_established(call, false, 0, err ? reason : NULL);
	if (call->uas.bye_after_ack && call->state == CALL_UP) {
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
		(void)server_transaction_reply(&call->uas.transaction,
					       call->sip, call->uas.invite, 487,
					       "Request Terminated");
		call_set_end(call, SIP_END_CANCELLED, false, 487,
			     "ended by the caller");
	} else if (call->state == CALL_ACCEPTED || call->state == CALL_UP) {
		call_set_end(call, SIP_END_REMOTE, false, 0,
			     "hung up by the peer");
	} else {
		goto out; /* the BYE crossed ours: the response to ours closes the call */
	}
	call->end.mono_ns = transport_received_ns(call->transport);
	uas_stop_timers(call);
	call_close(call);
out:
	mem_deref(call);
}

/* ---- responses to INVITE ---- */

#define CONTACTS_MAX 8

static int no_lines(struct re_printf *pf, const struct session_timer *t)
{
	(void)pf;
	(void)t;
	return 0;
}

int uas_respond(struct sip_call *call, const struct uas_response *r)
{
	size_t len = r->sdp ? call->session.sdp.used : 0;
	struct contact_params contact;
	char *extensions;
	int err;

	err = extensions_response(&extensions, &call->options);
	if (err)
		return err;
	contact_answer(&contact, call->origin, r->msg);
	err = server_transaction_replyf(
		r->server, r->ret_mb, call->sip, r->msg, r->routes, r->code,
		r->reason, "%H%s%s%H%sContent-Length: %zu\r\n\r\n%b",
		contact_print, &contact, extensions,
		r->headers ? r->headers : "",
		r->timer ? session_timer_response : no_lines, &call->timer,
		r->sdp ? "Content-Type: application/sdp\r\n" : "", len,
		r->sdp ? call->session.sdp.data : "", len);
	mem_deref(extensions);
	return err;
}

int uas_provisional(struct sip_call *call, struct mbuf **ret, uint16_t code,
		    const char *headers, bool sdp)
{
	const struct uas_response response = {
		.msg = call->uas.invite,
		.server = &call->uas.transaction,
		.ret_mb = ret,
		.code = code,
		.reason = response_phrase(code),
		.headers = headers,
		.routes = true,
		.sdp = sdp,
	};
	struct call_event *event;
	int err;

	err = uas_respond(call, &response);
	if (err)
		return err;
	call->uas.progressed = true;
	if (sdp) {
		event = call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
				   transport_sent_ns(call->transport));
		if (event && call->session.remote)
			offer_answer_event_media(call, event);
	}
	event = call_event(&call->events,
			   code == 180 ? SIP_CALL_RINGING : SIP_CALL_PROGRESS,
			   true, transport_sent_ns(call->transport));
	if (event) {
		event->code = code;
		(void)str_copy(event->reason, sizeof(event->reason),
			       response_phrase(code));
	}
	return 0;
}

/* @return 1: our answer goes with it; 0: no; -errno */
static int early_answer(struct sip_call *call, const struct media_local *media,
			char *reason)
{
	int err;

	if (!media || call->session.early_answer)
		return 0;
	if (!call->session.remote)
		return -EINVAL;
	err = offer_answer_local_set(call, media);
	if (!err)
		err = offer_answer_new_answer(call, media->direction, reason);
	if (err)
		return err;
	call->session.early_answer = true;
	return 1;
}

static int progress(struct sip_call *call, uint16_t code,
		    const struct media_local *media, char *reason)
{
	int sdp;

	/* without an offer and our media no reliable one: it would have to
	 * carry our offer */
	if (reliable_wanted(call) &&
	    (call->session.remote || media || call->reliable.answered))
		return reliable_send(call, code, media, reason);
	sdp = early_answer(call, media, reason);
	if (sdp < 0)
		return sdp;
	return uas_provisional(call, NULL, code, "", sdp);
}

int uas_progress(struct sip_call *call, uint16_t code,
		 const struct media_local *media)
{
	char reason[REASON_BYTES] = "";
	int err = progress(call, code, media, reason);

	if (err && reason[0]) {
		uas_refuse_offer(call, err, reason);
	} else if (err && err != -EINVAL && err != -EBUSY) {
		call_set_end(call, SIP_END_FAILED, true, 0,
			     "a provisional response could not be sent");
		call_close(call);
	} else {
		return err;
	}
	return 0;
}

int native_call_progress(struct sip_call *call, uint16_t code,
			 const struct media_local *media)
{
	if (call->state != CALL_INCOMING || !call->uas.transaction ||
	    code <= 100 || code > 199)
		return -EINVAL;
	if (call->uas.offer_unusable)
		return 0;
	return uas_progress(call, code, media);
}

int native_call_ring(struct sip_call *call)
{
	return native_call_progress(call, 180, NULL);
}

void uas_refuse(struct sip_call *call, uint16_t code, const char *reason)
{
	if (call->uas.transaction)
		(void)server_transaction_reply(&call->uas.transaction,
					       call->sip, call->uas.invite,
					       code, reason);
	call_set_end(call, SIP_END_REJECTED, true, code, reason);
	call->end.mono_ns = transport_sent_ns(call->transport);
	call_close(call);
}

void uas_refuse_offer(struct sip_call *call, int err, const char *reason)
{
	uint16_t code = 488;

	if (err == -EPROTONOSUPPORT) {
		code = 415;
		warning_refuse(&call->uas.transaction, call->sip,
			       call->uas.invite, err, reason);
	} else if (offer_answer_refusable(err)) {
		warning_refuse(&call->uas.transaction, call->sip,
			       call->uas.invite, err, reason);
	} else {
		code = 400;
		(void)server_transaction_reply(&call->uas.transaction,
					       call->sip, call->uas.invite,
					       code, "Bad Session Description");
	}
	call_set_end(call, SIP_END_REJECTED, true, code, reason);
	call->end.mono_ns = transport_sent_ns(call->transport);
	call_close(call);
}

int native_call_reject(struct sip_call *call, uint16_t code, const char *reason)
{
	if (call->state != CALL_INCOMING || code < 300 || code > 699 ||
	    (reason && !header_text_valid(reason)))
		return -EINVAL;
	uas_refuse(call, code, reason ? reason : response_phrase(code));
	if (!call->events.handler)
		mem_deref(
			call); /* no handler took the call over: release it here */
	return 0;
}

/* "Contact: <a>, <b>" of a list separated by commas */
static int contacts_write(struct mbuf *mb, const struct sip_call *call,
			  const char *contacts)
{
	char one[256];
	int count = 0;

	while (*contacts) {
		size_t len = strcspn(contacts, ",");
		char *uri;
		int err;

		if (len >= sizeof(one) || count == CONTACTS_MAX)
			return -EINVAL;
		memcpy(one, contacts, len);
		one[len] = '\0';
		err = peer_uri(&uri, call->origin, one + strspn(one, " "));
		if (err)
			return err;
		err = neg(mbuf_printf(mb, "%s<%s>",
				      count++ ? ", " : "Contact: ", uri));
		mem_deref(uri);
		if (err)
			return err;
		contacts += len + (contacts[len] == ',');
	}
	return count ? neg(mbuf_write_str(mb, "\r\n")) : -EINVAL;
}

int native_call_redirect(struct sip_call *call, uint16_t code,
			 const char *contacts)
{
	struct mbuf *mb;
	int err;

	if (call->state != CALL_INCOMING || code < 300 || code > 399 ||
	    !call->uas.transaction)
		return -EINVAL;
	mb = mbuf_alloc(256);
	if (!mb)
		return -ENOMEM;
	err = contacts_write(mb, call, contacts);
	if (!err) {
		(void)server_transaction_replyf(
			&call->uas.transaction, NULL, call->sip,
			call->uas.invite, false, code, response_phrase(code),
			"%bContent-Length: 0\r\n\r\n", mb->buf, mb->end);
		call_set_end(call, SIP_END_REJECTED, true, code,
			     response_phrase(code));
		call->end.mono_ns = transport_sent_ns(call->transport);
		call_close(call);
		if (!call->events.handler)
			mem_deref(call);
	}
	mem_deref(mb);
	return err;
}
