#include "sip/transaction/client_transaction_internal.h"

#include <errno.h>

#include "base/str.h"
#include "sip/message/decode.h"
#include "sip/message/error.h"
#include "sip/message/headers.h"
#include "sip/ua/ua_internal.h"

static bool route_write(const struct sip_hdr *hdr, const struct sip_msg *msg,
			void *arg)
{
	(void)msg;
	return mbuf_printf(arg, "Route: %r\r\n", &hdr->val) != 0;
}

/* RFC 3261 9.1 and 17.1.1.3: what both take over from the INVITE. */
static int derived_write(struct mbuf *mb, const struct client_transaction *t,
			 const char *method, const struct sip_msg *invite,
			 const struct sip_msg *answer)
{
	const struct header_list *custom = client_transaction_headers(t);
	unsigned scopes = headers_scopes(method, true, NULL);
	int err;

	err = neg(mbuf_printf(mb, "%s %r SIP/2.0\r\nVia: %r\r\n", method,
			      &invite->ruri, &invite->via.val));
	if (!err)
		err = headers_write_own(mb, custom, scopes,
					"Max-Forwards: 70\r\n");
	if (!err &&
	    sip_msg_hdr_apply(invite, true, SIP_HDR_ROUTE, route_write, mb))
		err = -ENOMEM;
	if (!err)
		err = neg(mbuf_printf(
			mb,
			"From: %r\r\nTo: %r\r\nCall-ID: %r\r\nCSeq: %u %s\r\n",
			&invite->from.val,
			answer ? &answer->to.val : &invite->to.val,
			&invite->callid, invite->cseq.num, method));
	if (!err && t->ua->software &&
	    !headers_find(custom, scopes, "User-Agent"))
		err = neg(
			mbuf_printf(mb, "User-Agent: %s\r\n", t->ua->software));
	if (!err)
		err = headers_write(mb, custom, scopes);
	if (!err)
		err = neg(mbuf_write_str(mb, "Content-Length: 0\r\n\r\n"));
	mb->pos = 0;
	return err;
}

int client_transaction_derive(struct mbuf **ret,
			      const struct client_transaction *t,
			      const char *method, const struct sip_msg *answer)
{
	struct mbuf *copy = mbuf_alloc(t->wire->end);
	struct mbuf *mb = mbuf_alloc(1024);
	struct sip_msg *invite = NULL;
	int err = copy && mb ? 0 : -ENOMEM;

	if (!err)
		err = neg(mbuf_write_mem(copy, t->wire->buf, t->wire->end));
	if (!err) {
		copy->pos = 0;
		err = decode_message(&invite, copy);
	}
	if (!err)
		err = derived_write(mb, t, method, invite, answer);
	mem_deref(invite);
	mem_deref(copy);
	if (err) {
		mem_deref(mb);
		return err;
	}
	*ret = mb;
	return 0;
}

/* A transaction of its own, with the branch of the INVITE. */
static void cancel_send(struct client_transaction *t)
{
	struct client_transaction *c = client_transaction_new(t->account);

	if (!c)
		return;
	c->stateful = true;
	c->hop = t->hop;
	c->hop.name = NULL;
	c->state = CLIENT_CALLING;
	c->callid = mem_ref(t->callid);
	c->from_tag = mem_ref(t->from_tag);
	c->cseq = t->cseq;
	(void)str_copy(c->branch, sizeof(c->branch), t->branch);
	if (str_dup(&c->method, "CANCEL") ||
	    client_transaction_derive(&c->wire, t, "CANCEL", NULL) ||
	    transport_send(c->ua->sip, &c->hop, c->wire, &c->watch)) {
		mem_deref(c);
		return;
	}
	client_transaction_launched(c, CLIENT_TIMEOUT_MS);
}

void client_transaction_give_up(struct client_transaction *t)
{
	t->cancelled = true;
	if (t->cancel_sent || t->state != CLIENT_PROCEEDING)
		return;
	t->cancel_sent = true;
	/* The final response is awaited no longer than this (9.1). */
	mono_timer_start(&t->tmr, CLIENT_TIMEOUT_MS, client_transaction_timeout,
			 t);
	cancel_send(t);
}
