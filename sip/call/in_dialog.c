#include "sip/call/in_dialog.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "sip/body/dtmf_info.h"
#include "sip/body/multipart.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/fork.h"
#include "sip/call/native_call.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/headers.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"
#include "sip/transaction/server_transaction.h"
#include "sip/transport/transport.h"

/* A request under way; it holds a reference to its call. */
struct inner {
	struct sip_call *call;
	struct client_request *req;
	uint32_t challenges; /* see digest_challenge() */
	const char *method;  /* static */
	in_dialog_h *answered_h;
	char *headers;
	char *type;
	char *body;
};

static void inner_destructor(void *arg)
{
	struct inner *inner = arg;

	inner->call->in_dialog_count--;
	mem_deref(inner->req);
	mem_deref(inner->headers);
	mem_deref(inner->type);
	mem_deref(inner->body);
	mem_deref(inner->call);
}

/* RFC 3428 section 4: a MESSAGE carries no Contact. */
static int contact_handler(enum sip_transp tp, const struct sa *src,
			   const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct inner *inner = arg;

	if (strcmp(inner->method, "MESSAGE") == 0 ||
	    strcmp(inner->method, "INFO") == 0)
		return 0;
	return call_contact_handler(tp, src, dst, mb, inner->call);
}

static int inner_send(struct inner *inner);

static void answer_event(struct sip_call *call, const char *method,
			 const struct sip_msg *msg)
{
	struct call_event *event;

	event = call_event(&call->events, SIP_CALL_ANSWER_TO, true,
			   transport_event_ns(call->transport));
	if (!event)
		return;
	event->method = method;
	if (msg)
		call_event_reason(event, msg);
	else
		(void)str_copy(event->reason, sizeof(event->reason),
			       "no answer");
}

/* 408, 481 and no response end the dialog (RFC 3261 12.2.1.2); for a NOTIFY
 * they end only its subscription (RFC 5057 5.1). */
static bool ends_dialog(const struct inner *inner, const struct sip_msg *msg)
{
	return strcmp(inner->method, "NOTIFY") != 0 &&
	       (!msg || msg->scode == 408 || msg->scode == 481);
}

static void inner_answered(struct inner *inner, const struct sip_msg *msg)
{
	struct sip_call *call = inner->call;
	char reason[REASON_BYTES];

	if (inner->answered_h)
		inner->answered_h(call, inner->method, msg);
	if (!ends_dialog(inner, msg) || call->state != CALL_UP)
		return;
	str_print(reason, sizeof(reason), "%s to our %s",
		  !msg                ? "no answer"
		  : msg->scode == 408 ? "408"
				      : "481",
		  inner->method);
	call_set_end(call, SIP_END_FAILED, true, msg ? msg->scode : 0, reason);
	call_bye(call);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct inner *inner = arg;

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(inner->call->digest, &inner->challenges, msg) ==
		    0 &&
	    inner_send(inner) == 0)
		return;
	inner_answered(inner, err ? NULL : msg);
	mem_deref(inner);
}

static int inner_send(struct inner *inner)
{
	const struct dialog_request_params request = {
		.method = inner->method,
		.headers = inner->headers,
		.type = inner->type,
		.body = inner->body,
		.sendh = contact_handler,
		.resph = response_handler,
		.arg = inner,
	};
	struct sip_call *call = inner->call;

	/* a request that has its final response releases itself */
	inner->req = NULL;
	return dialog_send(&inner->req, call->origin, call->dialog,
			   call->digest, &request);
}

int in_dialog_send(struct sip_call *call, const char *method,
		   const char *headers, const char *type, const char *body,
		   in_dialog_h *answered_h)
{
	struct inner *inner;
	int err = 0;

	if (call->in_dialog_count >= CALL_REQUESTS_MAX)
		return -EBUSY;
	inner = mem_zalloc(sizeof(*inner), inner_destructor);
	if (!inner)
		return -ENOMEM;
	inner->call = mem_ref(call);
	call->in_dialog_count++;
	inner->method = method;
	inner->answered_h = answered_h;
	if (headers)
		err = text_print(&inner->headers, "%s", headers);
	if (!err && type)
		err = text_print(&inner->type, "%s", type);
	if (!err && type)
		err = text_print(&inner->body, "%s", body);
	if (!err)
		err = inner_send(inner);
	if (err)
		mem_deref(inner);
	return err;
}

/* A DTMF digit in an INFO is reported; other bodies are accepted and ignored
 * (RFC 6086 section 4.2.2 leaves that to the receiver). */
void info_received(struct sip_call *call, const struct sip_msg *msg)
{
	const struct sip_hdr *type = sip_msg_hdr(msg, SIP_HDR_CONTENT_TYPE);
	struct call_event *event;
	struct dtmf_info info;
	struct pl name = PL_INIT;

	(void)server_transaction_reply(NULL, call->sip, msg, 200, "OK");
	if (!type || re_regex(type->val.p, type->val.l, "[^; \t]+", &name) ||
	    !msg_body_length(msg) ||
	    msg_body_length(msg) > DTMF_INFO_BODY_BYTES ||
	    dtmf_info_parse(&info, name.p, name.l,
			    (const char *)mbuf_buf(msg->mb),
			    msg_body_length(msg)))
		return;
	event = call_event(&call->events, SIP_CALL_DTMF, false,
			   transport_received_ns(call->transport));
	if (!event)
		return;
	event->digit = info.digit;
	event->digit_ms = info.ms;
}

int native_call_request(struct sip_call *call, const char *method,
			const char *type, const char *body)
{
	static const char *const methods[] = {"MESSAGE", "OPTIONS", "INFO"};

	if (call->state != CALL_UP)
		return -ENOTCONN;
	if (type && (!header_text_valid(type) || !body))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(method, methods[i]) == 0)
			return in_dialog_send(
				call, methods[i],
				strcmp(method, "OPTIONS") == 0
					? "Accept: " MULTIPART_ACCEPT "\r\n"
					: NULL,
				type, body, answer_event);
	}
	return -EINVAL;
}

/* ---- PRACK (RFC 3262) ---- */

/* A PRACK under way; it holds a reference to its call and its dialog. */
struct prack {
	struct sip_call *call;
	struct dialog *dialog;
	struct client_request *req;
	uint32_t challenges; /* see digest_challenge() */
	char *headers;
	struct buf sdp;
	bool has_sdp;
};

static void prack_destructor(void *arg)
{
	struct prack *prack = arg;

	prack->call->in_dialog_count--;
	mem_deref(prack->req);
	mem_deref(prack->headers);
	buf_release(&prack->sdp);
	mem_deref(prack->dialog);
	mem_deref(prack->call);
}

bool in_dialog_needs_prack(const struct sip_call *call,
			   const struct sip_msg *msg)
{
	return call->options.prack != SIP_PRACK_NONE && msg->scode > 100 &&
	       msg->scode < 200 &&
	       extensions_has(msg, SIP_HDR_REQUIRE, "100rel") &&
	       sip_msg_hdr(msg, SIP_HDR_RSEQ);
}

static int prack_transmit(struct prack *prack);

static void prack_response(int err, const struct sip_msg *msg, void *arg)
{
	struct prack *prack = arg;
	struct sip_call *call = prack->call;

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(call->digest, &prack->challenges, msg) == 0 &&
	    prack_transmit(prack) == 0)
		return;
	/* any other response is ignored: the final response to the INVITE
	 * decides about the call */
	mem_deref(prack);
}

static int prack_contact(enum sip_transp tp, const struct sa *src,
			 const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct prack *prack = arg;
	(void)dst;

	return contact_write(mb, prack->call->origin, src, tp);
}

/* The dialog of a branch: after its 2xx it is that of the call, which counts CSeq on. */
static struct dialog *branch_dialog(const struct sip_call *call,
				    struct dialog *early)
{
	const char *answered = dialog_remote_tag(call->dialog);

	return answered && strcmp(answered, dialog_remote_tag(early)) == 0
		       ? call->dialog
		       : early;
}

static int prack_transmit(struct prack *prack)
{
	const struct dialog_request_params request = {
		.method = "PRACK",
		.headers = prack->headers,
		.sdp = prack->has_sdp ? &prack->sdp : NULL,
		.sendh = prack_contact,
		.resph = prack_response,
		.arg = prack,
	};
	struct sip_call *call = prack->call;

	prack->req = NULL;
	return dialog_send(&prack->req, call->origin,
			   branch_dialog(call, prack->dialog), call->digest,
			   &request);
}

int in_dialog_prack(struct sip_call *call, struct early *early,
		    const struct sip_msg *msg, const struct buf *sdp)
{
	const struct sip_hdr *rseq = sip_msg_hdr(msg, SIP_HDR_RSEQ);
	struct prack *prack;
	int err;

	if (call->in_dialog_count >= CALL_REQUESTS_MAX)
		return -EBUSY;
	prack = mem_zalloc(sizeof(*prack), prack_destructor);
	if (!prack)
		return -ENOMEM;
	prack->call = mem_ref(call);
	call->in_dialog_count++;
	prack->dialog = mem_ref(early->dialog);
	buf_init(&prack->sdp, SDP_TEXT_MAX);
	err = text_print(&prack->headers, "RAck: %u %u INVITE\r\n",
			 pl_u32(&rseq->val), msg->cseq.num);
	if (!err && sdp) {
		prack->has_sdp = true;
		err = buf_add(&prack->sdp, sdp->data, sdp->used);
	}
	if (!err)
		err = prack_transmit(prack);
	if (err)
		mem_deref(prack);
	return err;
}
