#include "sip/call/prack.h"

#include <errno.h>

#include "base/buf.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/extensions.h"
#include "sip/call/fork.h"
#include "sip/call/in_dialog.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/text.h"
#include "sip/sdp/sdp.h"

/* A PRACK under way; it holds a reference to its call and its dialog. */
struct prack {
	struct sip_call *call;
	struct dialog *dialog;
	struct client_request *req;
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

bool prack_is_reliable(const struct sip_call *call, const struct sip_msg *msg)
{
	return call->options.prack != SIP_PRACK_NONE && msg->scode > 100 &&
	       msg->scode < 200 &&
	       extensions_has(msg, SIP_HDR_REQUIRE, "100rel") &&
	       sip_msg_hdr(msg, SIP_HDR_RSEQ);
}

static int transmit(struct prack *prack);

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct prack *prack = arg;
	struct sip_call *call = prack->call;

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(call->digest, msg) == 0 && transmit(prack) == 0)
		return;
	/* Whatever else comes: the INVITE's own answer is what counts. */
	mem_deref(prack);
}

static int contact_handler(enum sip_transp tp, const struct sa *src,
			   const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct prack *prack = arg;
	(void)dst;

	return contact_write(mb, prack->call->origin, src, tp);
}

static int transmit(struct prack *prack)
{
	const struct dialog_request_params request = {
		.method = "PRACK",
		.headers = prack->headers,
		.sdp = prack->has_sdp ? &prack->sdp : NULL,
		.sendh = contact_handler,
		.resph = response_handler,
		.arg = prack,
	};
	struct sip_call *call = prack->call;

	prack->req = NULL;
	return dialog_send(&prack->req, call->origin, prack->dialog,
			   call->digest, &request);
}

int prack_send(struct sip_call *call, struct early *early,
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
	digest_begin(call->digest);
	if (!err)
		err = transmit(prack);
	if (err)
		mem_deref(prack);
	return err;
}
