#include "sip/call/uas.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/call/reliable_provisional.h"
#include "sip/call/session_timer.h"
#include "sip/call/warning.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/peer.h"
#include "sip/message/error.h"
#include "sip/message/headers.h"
#include "sip/transaction/response.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

/* Responses to INVITE, but for when its 2xx is due. */

#define CONTACTS_MAX 8

static int no_lines(struct re_printf *pf, const struct session_timer *t)
{
	(void)pf;
	(void)t;
	return 0;
}

int uas_respond(struct sip_call *call, const struct uas_response *r)
{
	size_t len = r->sdp ? call->sdp.used : 0;
	struct contact_params contact;
	char *extensions;
	int err;

	err = extensions_response(&extensions, call);
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
		r->sdp ? call->sdp.data : "", len);
	mem_deref(extensions);
	return err;
}

int uas_provisional(struct sip_call *call, struct mbuf **ret, uint16_t code,
		    const char *headers, bool sdp)
{
	const struct uas_response response = {
		.msg = call->msg,
		.server = &call->st,
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
	call->progressed = true;
	if (sdp) {
		event = call_event(call, SIP_CALL_LOCAL_SDP, true,
				   transport_sent_ns(call->transport));
		if (event && call->remote)
			offer_answer_event_media(call, event);
	}
	event = call_event(call,
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

	if (!media || call->early_answer)
		return 0;
	if (!call->remote)
		return -EINVAL;
	err = offer_answer_local_set(call, media);
	if (!err)
		err = offer_answer_new_answer(call, media->direction, reason);
	if (err)
		return err;
	call->early_answer = true;
	return 1;
}

static int progress(struct sip_call *call, uint16_t code,
		    const struct media_local *media, char *reason)
{
	int sdp;

	/* The first reliable one would have to carry our offer then. */
	if (reliable_wanted(call) &&
	    (call->remote || media || call->reliable.answered))
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
	if (call->state != CALL_INCOMING || !call->st || code <= 100 ||
	    code > 199)
		return -EINVAL;
	if (call->refusing)
		return 0;
	return uas_progress(call, code, media);
}

int native_call_ring(struct sip_call *call)
{
	return native_call_progress(call, 180, NULL);
}

void uas_refuse(struct sip_call *call, uint16_t code, const char *reason)
{
	if (call->st)
		(void)server_transaction_reply(&call->st, call->sip, call->msg,
					       code, reason);
	call_set_end(call, SIP_END_REJECTED, true, code, reason);
	call->end_ns = transport_sent_ns(call->transport);
	call_close(call);
}

void uas_refuse_offer(struct sip_call *call, int err, const char *reason)
{
	uint16_t code = 488;

	if (err == -EPROTONOSUPPORT) {
		code = 415;
		warning_refuse(&call->st, call->sip, call->msg, err, reason);
	} else if (offer_answer_refusable(err)) {
		warning_refuse(&call->st, call->sip, call->msg, err, reason);
	} else {
		code = 400;
		(void)server_transaction_reply(&call->st, call->sip, call->msg,
					       code, "Bad Session Description");
	}
	call_set_end(call, SIP_END_REJECTED, true, code, reason);
	call->end_ns = transport_sent_ns(call->transport);
	call_close(call);
}

int native_call_reject(struct sip_call *call, uint16_t code, const char *reason)
{
	if (call->state != CALL_INCOMING || code < 300 || code > 699 ||
	    (reason && !header_text_valid(reason)))
		return -EINVAL;
	uas_refuse(call, code, reason ? reason : response_phrase(code));
	if (!call->handler)
		mem_deref(call); /* nobody adopted it, nobody will */
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
	    !call->st)
		return -EINVAL;
	mb = mbuf_alloc(256);
	if (!mb)
		return -ENOMEM;
	err = contacts_write(mb, call, contacts);
	if (!err) {
		(void)server_transaction_replyf(
			&call->st, NULL, call->sip, call->msg, false, code,
			response_phrase(code), "%bContent-Length: 0\r\n\r\n",
			mb->buf, mb->end);
		call_set_end(call, SIP_END_REJECTED, true, code,
			     response_phrase(code));
		call->end_ns = transport_sent_ns(call->transport);
		call_close(call);
		if (!call->handler)
			mem_deref(call);
	}
	mem_deref(mb);
	return err;
}
