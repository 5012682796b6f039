#include "sip/call/uac.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/native_call.h"
#include "sip/call/offer_answer.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transport/hop.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

/* RFC 3261 16.6: a proxy's timer C is longer than three minutes. */
#define RING_TIMEOUT_S 180

int uac_contact_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)dst;

	return contact_write(mb, call->origin, src, tp);
}

int uac_invite_send(struct sip_call *call, struct request *request)
{
	char *headers;
	int err;

	err = extensions_request(&headers, call, true);
	if (err)
		return err;
	request->headers = headers;
	mem_ref(call);
	err = dialog_send(&call->req, call->origin, call->dialog, call->digest,
			  request);
	mem_deref(headers);
	if (err)
		mem_deref(call);
	return err;
}

int uac_invite(struct sip_call *call)
{
	struct request request = {
		.method = "INVITE",
		.sdp = call->options.late_offer ? NULL : &call->sdp,
		.sendh = uac_contact_handler,
		.resph = uac_response,
		.arg = call,
	};

	return uac_invite_send(call, &request);
}

void call_sent(struct sip_call *call, int64_t mono_ns)
{
	if (call->invite_sent_ns)
		return;
	call->invite_sent_ns = mono_ns;
	call_event(call, SIP_CALL_OUTGOING, true, mono_ns);
	if (!call->options.late_offer)
		call_event(call, SIP_CALL_LOCAL_SDP, true, mono_ns);
}

/* The ACK is filled in behind this; kept for a repeated 2xx. */
static int ack_send_handler(enum sip_transp tp, const struct sa *src,
			    const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_call *call = arg;
	(void)src;

	mem_deref(call->ack_mb);
	call->ack_mb = mem_ref(mb);
	call->ack_dst = *dst;
	call->ack_tp = tp;
	return 0;
}

int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp)
{
	const struct request request = {
		.method = "ACK",
		.ack_cseq = cseq,
		.sdp = sdp,
		.sendh = ack_send_handler,
		.arg = call,
	};

	call->ack = mem_deref(call->ack);
	call->ack_cseq = cseq;
	return dialog_send(&call->ack, call->origin, call->dialog, call->digest,
			   &request);
}

void uac_ack_again(struct sip_call *call, const struct sip_msg *msg)
{
	const struct hop hop = {
		.tp = call->ack_tp,
		.addr = call->ack_dst,
		.tls = call->origin->user.tls,
	};

	if (call->ack_mb && msg->cseq.num == call->ack_cseq)
		(void)transport_send(call->transport, &hop, call->ack_mb, NULL);
}

static void cancel_timeout(void *arg)
{
	call_close(arg); /* the transaction ends by itself */
}

void uac_cancel(struct sip_call *call)
{
	call->state = CALL_ENDING;
	mono_timer_cancel(&call->tmr_ring);
	mono_timer_start(&call->tmr_end, END_WAIT_MS, cancel_timeout, call);
	if (call->req)
		client_request_cancel(call->req);
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

int uac_dial(struct sip_call **ret, struct sip_account *account,
	     const struct sip_call_params *params,
	     const struct call_handlers *handlers)
{
	char reason[REASON_BYTES];
	struct sip_call *call;
	int err;

	if (account->ua->call_count >= 2 * account->ua->calls_max + 16)
		return -EAGAIN;
	err = call_new(&call, account, true, handlers);
	if (err)
		return err;
	call->handler = params->call_h;
	call->arg = params->arg;
	if (params->options)
		call->options = *params->options;
	if (call->options.ring_timeout_s == 0)
		call->options.ring_timeout_s = RING_TIMEOUT_S;
	err = offer_answer_local_set(call, params->media);
	if (!err)
		err = peer_uri(&call->peer, &account->origin, params->uri);
	if (!err && params->replaces)
		err = header_text_valid(params->replaces)
			      ? text_print(&call->replaces_line,
					   "Require: replaces\r\n"
					   "Replaces: %s\r\n",
					   params->replaces)
			      : -EINVAL;
	if (!err)
		err = dialog_new(&call->dialog, &account->origin, call->peer,
				 call->peer);
	if (!err && params->headers)
		err = headers_new(&call->dialog->headers, params->headers,
				  params->header_count);
	if (!err && !call->options.late_offer)
		err = offer_answer_new_offer(call, call->local.direction);
	if (err) {
		mem_deref(call);
		return err;
	}
	call_register(call);
	mono_timer_start(&call->tmr_ring,
			 (uint64_t)call->options.ring_timeout_s * 1000,
			 ring_handler, call);
	err = uac_invite(call);
	if (err) {
		failure_reason(reason, sizeof(reason), account, -err);
		call_set_end(call, SIP_END_FAILED, false, 0, reason);
		call_close(call);
	}
	*ret = call;
	return 0;
}
