#include "sip/call/update.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/fork.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/session_timer.h"
#include "sip/call/uas.h"
#include "sip/call/warning.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

/* Longest wait before an UPDATE that got 491 or 500 is sent again, once. */
#define RETRY_MAX_S 10

/* Our UPDATE (RFC 3311), one at a time for each call; it keeps a reference
 * to the call until it ends. */
struct update {
	struct sip_call *call;
	struct dialog *dialog;
	struct early *early; /* before the 2xx of our INVITE, else NULL */
	struct client_request *req;
	uint32_t challenges; /* see digest_challenge() */
	struct mono_timer tmr;
	bool offers;
	bool refreshes; /* sent by the session timer: no event */
	bool retried;
};

static void update_destructor(void *arg)
{
	struct update *update = arg;

	mono_timer_cancel(&update->tmr);
	mem_deref(update->req);
	mem_deref(update->dialog);
	mem_deref(update->early);
	mem_deref(update->call);
}

static void update_end(struct update *update)
{
	update->call->update = NULL;
	mem_deref(update);
}

bool update_offers(const struct sip_call *call)
{
	return call->update && call->update->offers;
}

void update_stop(struct sip_call *call)
{
	/* a transaction that is under way ends in the background */
	if (call->update && mono_timer_running(&call->update->tmr))
		update_end(call->update);
}

static int transmit(struct update *update);

static void tell(struct update *update, uint16_t code, const char *reason)
{
	struct sip_call *call = update->call;
	struct call_event *event;

	if (update->refreshes)
		return;
	event = call_event(&call->events, SIP_CALL_ANSWER_TO, true,
			   transport_event_ns(call->transport));
	if (!event)
		return;
	event->method = "UPDATE";
	event->code = code;
	(void)str_copy(event->reason, sizeof(event->reason), reason);
}

void update_early_end(struct sip_call *call, const char *why)
{
	const char *answered = dialog_remote_tag(call->dialog);
	struct update *update = call->update;

	if (!update || !update->early)
		return;
	if (answered &&
	    strcmp(answered, dialog_remote_tag(update->dialog)) == 0) {
		update->early = mem_deref(update->early);
		mem_deref(update->dialog);
		update->dialog = mem_ref(call->dialog);
		return;
	}
	/* whatever the branch answers says nothing of the call */
	tell(update, 0, why);
	update_end(update);
}

static void retry_handler(void *arg)
{
	struct update *update = arg;

	if (transmit(update) == 0)
		return;
	tell(update, 0, "could not be sent again");
	update_end(update);
}

static void lose(struct update *update, uint16_t code, const char *why)
{
	struct sip_call *call = update->call;

	if (call->state != CALL_UP)
		return;
	call_set_end(call, SIP_END_FAILED, true, code, why);
	call_bye(call);
}

static void accepted(struct update *update, const struct sip_msg *msg)
{
	struct sip_call *call = update->call;
	char reason[REASON_BYTES] = "";
	bool offered = update->offers;
	int err = 0;

	dialog_refresh(update->dialog, msg);
	session_timer_peer(&call->timer, msg);
	if (offered)
		err = offer_answer_conclude(
			call, msg, "the answer to our UPDATE has no SDP",
			reason);
	update->offers = false;
	if (err) {
		tell(update, 0, reason);
		lose(update, msg->scode, reason);
		return;
	}
	if (update->early && offered)
		early_settle(update->early, call->session.remote);
	session_timer_answered(&call->timer, msg);
	msg_line(reason, sizeof(reason), msg);
	tell(update, msg->scode, reason);
}

/* @return 0: it was sent again, or will be; -errno: it has failed */
static int refused(struct update *update, const struct sip_msg *msg)
{
	const struct sip_hdr *after = sip_msg_hdr(msg, SIP_HDR_RETRY_AFTER);
	struct sip_call *call = update->call;
	uint32_t s;

	switch (msg->scode) {
	case 401:
	case 407:
		return digest_challenge(call->digest, &update->challenges, msg)
			       ? -EACCES
			       : transmit(update);
	case 422:
		return session_timer_raise(&call->timer, msg) ? transmit(update)
							      : -EINVAL;
	case 491:
	case 500: /* RFC 3311 5.1 */
		if (update->retried || (msg->scode == 500 && !after))
			return -EBUSY;
		s = after ? pl_u32(&after->val) : 0;
		update->retried = true;
		mono_timer_start(
			&update->tmr,
			msg->scode == 491
				? call_glare_ms(call)
				: 1000ull * (s < RETRY_MAX_S ? s : RETRY_MAX_S),
			retry_handler, update);
		return 0;
	default:
		return -EINVAL;
	}
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct update *update = arg;
	struct sip_call *call = update->call;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200)
		return;
	update->req = NULL;
	if (call->state == CALL_ENDING || call->state == CALL_DONE) {
		update_end(update);
		return;
	}
	if (err) {
		tell(update, 0, "no answer");
		lose(update, 0, "no answer to our UPDATE");
	} else if (msg->scode < 300) {
		accepted(update, msg);
	} else if (refused(update, msg) == 0) {
		return;
	} else {
		update->offers = false;
		msg_line(reason, sizeof(reason), msg);
		tell(update, msg->scode, reason);
		if (msg->scode == 408 || msg->scode == 481)
			lose(update, msg->scode,
			     msg->scode == 408 ? "408 to our UPDATE"
					       : "481 to our UPDATE");
	}
	update_end(update);
}

static int contact_handler(enum sip_transp tp, const struct sa *src,
			   const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct update *update = arg;
	(void)dst;

	return contact_write(mb, update->call->origin, src, tp);
}

static int transmit(struct update *update)
{
	struct sip_call *call = update->call;
	struct dialog_request_params request = {
		.method = "UPDATE",
		.sdp = update->offers ? &call->session.sdp : NULL,
		.sendh = contact_handler,
		.resph = response_handler,
		.arg = update,
	};
	char *headers;
	int err;

	if (update->offers) {
		err = offer_answer_new_offer(
			call, offer_answer_wanted(call, call->session.held));
		if (err)
			return err;
	}
	err = extensions_request(&headers, &call->options, &call->timer, NULL);
	if (err)
		return err;
	request.headers = headers;
	update->req = NULL;
	err = dialog_send(&update->req, call->origin, update->dialog,
			  call->digest, &request);
	mem_deref(headers);
	if (!err && update->offers)
		call_event(&call->events, SIP_CALL_LOCAL_SDP, true,
			   clock_mono_ns());
	return err;
}

static int begin(struct sip_call *call, struct early *early, bool offers,
		 bool refreshes)
{
	struct update *update = mem_zalloc(sizeof(*update), update_destructor);
	int err;

	if (!update)
		return -ENOMEM;
	update->call = mem_ref(call);
	update->early = mem_ref(early);
	update->dialog = mem_ref(early ? early->dialog : call->dialog);
	update->offers = offers;
	update->refreshes = refreshes;
	err = transmit(update);
	if (err) {
		mem_deref(update);
		return err;
	}
	call->update = update;
	return 0;
}

int native_call_update(struct sip_call *call)
{
	struct early *early;

	if (call->update || call->reinvite.pending || call->uas.ok_mb)
		return -EBUSY;
	switch (call->state) {
	case CALL_UP:
		return begin(call, NULL, true, false);
	case CALL_INVITING:
		early = list_ledata(list_tail(&call->branches.early));
		return early ? begin(call, early, early->settled, false)
			     : -ENOTCONN;
	case CALL_INCOMING:
		if (!call->uas.progressed)
			return -ENOTCONN;
		return begin(call, NULL,
			     call->reliable.answered && !call->reliable.mb,
			     false);
	case CALL_ACCEPTED:
	case CALL_ENDING:
	case CALL_DONE:
		break;
	}
	return -ENOTCONN;
}

int update_refresh(struct sip_call *call)
{
	if (call->update || call->reinvite.pending)
		return -EBUSY;
	return begin(call, NULL, false, true);
}

/* ---- the peer's ---- */

/* Our offer has no answer yet. */
static bool ours_is_open(const struct sip_call *call, const struct early *early)
{
	if (call->state == CALL_INVITING)
		return !early || !early->settled || update_offers(call);
	return call->reinvite.pending || update_offers(call) ||
	       call->reliable.offers || call->uas.answer_in_ack;
}

/* The peer's offer has no answer yet. */
static bool theirs_is_open(const struct sip_call *call)
{
	return call->state == CALL_INCOMING && !call->reliable.answered;
}

/* @return 0: our answer is in call->session.sdp; -errno: the UPDATE was
 * refused */
static int offer_take(struct sip_call *call, struct early *early,
		      const struct sip_msg *msg)
{
	char reason[REASON_BYTES] = "";
	int err;

	if (ours_is_open(call, early)) {
		(void)server_transaction_reply(NULL, call->sip, msg, 491,
					       "Request Pending");
		return -EBUSY;
	}
	if (theirs_is_open(call)) {
		(void)server_transaction_replyf(
			NULL, NULL, call->sip, msg, false, 500,
			"Server Internal Error",
			"Retry-After: %u\r\n"
			"Content-Length: 0\r\n\r\n",
			random_u32() % (RETRY_MAX_S + 1));
		return -EBUSY;
	}
	err = offer_answer_offered(call, msg, reason);
	if (err)
		warning_refuse(NULL, call->sip, msg, err,
			       reason[0] ? reason : NULL);
	return err;
}

void update_received(struct sip_call *call, const struct sip_msg *msg)
{
	struct early *early = early_find(&call->branches, msg);
	bool offers = !offer_answer_empty(msg);
	const struct uas_response response = {
		.msg = msg,
		.code = 200,
		.reason = "OK",
		.timer = true,
		.sdp = offers,
	};

	if (call->state == CALL_ENDING || call->state == CALL_DONE) {
		(void)server_transaction_reply(
			NULL, call->sip, msg, 481,
			"Call/Transaction Does Not Exist");
		return;
	}
	if (call->state == CALL_UP &&
	    !session_timer_asked(&call->timer, call->sip, msg))
		return;
	if (offers && offer_take(call, early, msg))
		return;
	session_timer_peer(&call->timer, msg);
	dialog_refresh(early ? early->dialog : call->dialog, msg);
	(void)uas_respond(call, &response);
	if (offers)
		offer_answer_answered(call);
	if (offers && early)
		early_settle(early, call->session.remote);
	if (call->state == CALL_UP)
		session_timer_run(&call->timer);
}
