#include "sip/transaction/client_transaction.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/error.h"
#include "sip/message/decode.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/transaction/retransmit.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/transaction/transaction_user.h"
#include "sip/transport/hop.h"
#include "sip/transport/resolve.h"
#include "sip/transport/transport.h"

/* How long to wait for a host while another one is left. */
#define FAILOVER_MS  8000
#define COMPLETED_MS 32000 /* RFC 3261 17.1: timer D */

/* RFC 3261 17.1: timers B and F */
#define CLIENT_TIMEOUT_MS (64 * SIP_T1)

#define BRANCH_BYTES 32

/* Room for the request line, Via and Contact; more is made if they are longer. */
#define FIRST_LINES_BYTES 384

enum client_transaction_state {
	CLIENT_RESOLVING,
	CLIENT_CALLING, /* sent; for other methods than INVITE: trying */
	CLIENT_PROCEEDING,
	CLIENT_COMPLETED, /* final response reported; absorbs repetitions */
};

/* A transaction. It owns itself and is in layer->clients until it ends. */
struct client_transaction {
	struct le he;
	struct le he_calling; /* in layer->calling */
	struct transaction_layer *layer;
	const struct transaction_user *user;
	struct header_list *headers;   /* instead of the user's; or NULL */
	struct client_request *handle; /* NULL: the caller released it */
	char *method;
	char *uri;
	struct mbuf *mb;
	char *callid;
	char *from_tag;
	uint32_t cseq;
	bool invite;
	bool stateful;
	unsigned scopes;
	bool cancelled;
	bool cancel_sent;
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;

	struct le le; /* in layer->resolving */
	struct resolve *resolve;
	struct destinations to;
	size_t next; /* index in `to` */

	/* the attempt under way */
	enum client_transaction_state state;
	struct hop hop;
	char branch[BRANCH_BYTES];
	struct mbuf *wire;
	struct mbuf *ack;      /* to a final response of 300 to 699 */
	const char *discarded; /* why one was discarded; static, or NULL */
	int64_t launched_ns;   /* first transmission */
	unsigned sent;         /* transmissions */
	struct mono_timer tmr;
	struct mono_timer tmr_again;
	struct conn_watch watch;
};

struct client_request {
	struct client_request **place; /* the holder's pointer */
	struct client_transaction *transaction;
};

static void give_up(struct client_transaction *t);
static int attempt_next(struct client_transaction *t);
static void closed_handler(int err, const char *reason, void *arg);

static void transaction_destructor(void *arg)
{
	struct client_transaction *t = arg;

	hash_unlink(&t->he);
	hash_unlink(&t->he_calling);
	list_unlink(&t->le);
	mono_timer_cancel(&t->tmr);
	mono_timer_cancel(&t->tmr_again);
	list_unlink(&t->watch.le);
	mem_deref(t->resolve);
	destinations_release(&t->to);
	mem_deref(t->method);
	mem_deref(t->uri);
	mem_deref(t->mb);
	mem_deref(t->callid);
	mem_deref(t->from_tag);
	mem_deref(t->wire);
	mem_deref(t->ack);
	mem_deref(t->headers);
	mem_deref(t->user->owner);
}

static struct client_transaction *transaction_new(
	const struct transaction_user *user)
{
	struct client_transaction *t =
		mem_zalloc(sizeof(*t), transaction_destructor);

	if (!t)
		return NULL;
	t->layer = user->layer;
	t->user = user;
	mem_ref(user->owner);
	t->watch.closed_h = closed_handler;
	t->watch.arg = t;
	return t;
}

static void handle_destructor(void *arg)
{
	struct client_request *client = arg;
	struct client_transaction *t = client->transaction;

	if (!t)
		return;
	t->handle = NULL;
	t->resph = NULL;
	t->sendh = NULL;
	if (t->state == CLIENT_RESOLVING || !t->stateful)
		mem_deref(t);
	else if (t->invite)
		give_up(t);
}

/* Detach the handle: the caller may use its pointer for another request. */
static void handle_detach(struct client_transaction *t)
{
	struct client_request *client = t->handle;

	if (!client)
		return;
	t->handle = NULL;
	client->transaction = NULL;
	*client->place = NULL;
	mem_deref(client);
}

static void terminate(struct client_transaction *t, int err,
		      const struct sip_msg *msg)
{
	sip_resp_h *resph = t->resph;

	handle_detach(t);
	t->resph = NULL;
	t->sendh = NULL;
	if (resph)
		resph(err, msg, t->arg);
}

static void failure_note(struct client_transaction *t, int err,
			 const char *reason)
{
	const char *tp = sip_transp_name(t->hop.tp);
	char last[40] = "";
	char text[REASON_BYTES];

	if (t->to.count > 1)
		str_print(last, sizeof(last), " (the last of %zu hosts)",
			  t->to.count);
	if (reason)
		str_join(text, sizeof(text), reason, NULL);
	else if (err == ECONNREFUSED)
		(void)re_snprintf(text, sizeof(text),
				  "connection refused by %J over %s",
				  &t->hop.addr, tp);
	else if (err == ETIMEDOUT && t->discarded)
		(void)re_snprintf(text, sizeof(text),
				  "no usable answer from %J over %s within %u "
				  "s: a response was discarded, %s",
				  &t->hop.addr, tp, CLIENT_TIMEOUT_MS / 1000,
				  t->discarded);
	else if (err == ETIMEDOUT)
		(void)re_snprintf(text, sizeof(text),
				  "no answer from %J over %s within %u s",
				  &t->hop.addr, tp, CLIENT_TIMEOUT_MS / 1000);
	else
		(void)re_snprintf(text, sizeof(text),
				  "cannot reach %J over %s: %m", &t->hop.addr,
				  tp, err);
	str_join(t->layer->failure, sizeof(t->layer->failure), text, last,
		 NULL);
}

static void attempt_stop(struct client_transaction *t)
{
	mono_timer_cancel(&t->tmr);
	mono_timer_cancel(&t->tmr_again);
	list_unlink(&t->watch.le);
	hash_unlink(&t->he_calling);
}

static void attempt_failed(struct client_transaction *t, int err,
			   const char *reason)
{
	failure_note(t, err, reason);
	attempt_stop(t);
	if (!t->cancelled && t->resph && attempt_next(t) == 0)
		return;
	terminate(t, err, NULL);
	mem_deref(t);
}

static void closed_handler(int err, const char *reason, void *arg)
{
	struct client_transaction *t = arg;

	/* After a provisional response to INVITE the final one may come over
	 * another connection (RFC 3261 18.2.2). */
	if (t->state == CLIENT_CALLING ||
	    (t->state == CLIENT_PROCEEDING && !t->invite))
		attempt_failed(t, err, reason);
}

static void timeout_handler(void *arg)
{
	struct client_transaction *t = arg;

	if (t->state == CLIENT_COMPLETED)
		mem_deref(t);
	else
		attempt_failed(t, ETIMEDOUT, NULL);
}

static void again_handler(void *arg)
{
	struct client_transaction *t = arg;
	uint32_t cap_ms = t->invite ? RETRANSMIT_NO_CAP : SIP_T2;
	int err;

	t->sent++;
	/* 17.1.2.2: timer E is T2 in the state Proceeding. */
	mono_timer_start(&t->tmr_again,
			 t->state == CLIENT_PROCEEDING
				 ? SIP_T2
				 : retransmit_interval_ms(t->sent, cap_ms),
			 again_handler, t);
	err = transport_send(t->layer->transport, &t->hop, t->wire, NULL);
	if (err)
		attempt_failed(t, -err, NULL);
}

static const struct header_list *custom_headers(
	const struct client_transaction *t)
{
	return t->headers ? t->headers : t->user->headers;
}

/* Append what sendh adds for this transport; a custom Contact replaces its Contact.
 * The sendh of an ACK keeps the message and adds nothing. */
static int sender_write(struct client_transaction *t, struct mbuf *mb)
{
	const struct header_list *custom = custom_headers(t);
	struct mbuf *own;
	char *text = NULL;
	int err;

	if (!t->stateful || !headers_find(custom, t->scopes, "Contact"))
		return neg(t->sendh(t->hop.tp,
				    transport_laddr(t->layer->transport),
				    &t->hop.addr, mb, t->arg));
	own = mbuf_alloc(128);
	if (!own)
		return -ENOMEM;
	err = neg(t->sendh(t->hop.tp, transport_laddr(t->layer->transport),
			   &t->hop.addr, own, t->arg));
	own->pos = 0;
	if (!err)
		err = neg(mbuf_strdup(own, &text, own->end));
	if (!err)
		err = headers_write_own(mb, custom, t->scopes, text);
	mem_deref(text);
	mem_deref(own);
	return err;
}

static int wire_write(struct client_transaction *t)
{
	struct mbuf *mb = mbuf_alloc(t->mb->end + FIRST_LINES_BYTES);
	int err;

	if (!mb)
		return -ENOMEM;
	err = text_append(mb, t->method, " ", t->uri, " SIP/2.0\r\n",
			  "Via: SIP/2.0/", sip_transp_name(t->hop.tp), " ",
			  t->layer->sent_by, ";branch=", t->branch,
			  ";rport\r\n", NULL);
	if (!err && t->sendh)
		err = sender_write(t, mb);
	if (!err)
		err = neg(mbuf_write_mem(mb, t->mb->buf, t->mb->end));
	if (err) {
		mem_deref(mb);
		return err;
	}
	mb->pos = 0;
	mem_deref(t->wire);
	t->wire = mb;
	return 0;
}

static void launched(struct client_transaction *t, uint32_t timeout_ms)
{
	hash_unlink(&t->he_calling);
	if (t->hop.tp == SIP_TRANSP_UDP)
		hash_append(t->layer->calling, sa_hash(&t->hop.addr, SA_ALL),
			    &t->he_calling, t);
	hash_append(t->layer->clients, hash_joaat_str(t->branch), &t->he, t);
	t->launched_ns = clock_mono_ns();
	t->sent = 1;
	mono_timer_start(&t->tmr, timeout_ms, timeout_handler, t);
	if (t->hop.tp == SIP_TRANSP_UDP)
		mono_timer_start(&t->tmr_again, SIP_T1, again_handler, t);
}

static int attempt_send(struct client_transaction *t)
{
	bool more = t->next < t->to.count;
	char number[STR_HEX_BYTES];
	int err;

	hash_unlink(&t->he);
	str_join(t->branch, sizeof(t->branch), "z9hG4bK",
		 str_hexadecimal(number, random_u64(), 16), NULL);
	err = wire_write(t);
	if (err)
		return err;
	t->state = CLIENT_CALLING;
	t->discarded = NULL;
	err = transport_send(t->layer->transport, &t->hop, t->wire, &t->watch);
	if (err || !t->stateful)
		return err;
	launched(t, more ? FAILOVER_MS : CLIENT_TIMEOUT_MS);
	return 0;
}

static int attempt_next(struct client_transaction *t)
{
	int err = -EHOSTUNREACH;

	while (t->next < t->to.count) {
		const struct destination *d = &t->to.list[t->next++];

		t->hop = (struct hop){
			.tp = d->tp,
			.addr = d->addr,
			.tls = t->user->tls,
			.name = t->user->tls_name ? t->user->tls_name : d->name,
		};
		err = attempt_send(t);
		if (!err)
			return 0;
		failure_note(t, -err, NULL);
	}
	return err;
}

static void resolved_handler(int err, void *arg)
{
	struct client_transaction *t = arg;

	list_unlink(&t->le);
	t->resolve = mem_deref(t->resolve);
	t->layer->failure[0] = '\0';
	if (!err)
		err = t->cancelled ? ECANCELED : -attempt_next(t);
	if (err)
		terminate(t, err, NULL);
	else if (!t->stateful)
		handle_detach(t);
	if (err || !t->stateful)
		mem_deref(t);
}

static int transaction_fill(struct client_transaction *t,
			    const struct client_request_params *p)
{
	t->headers = mem_ref(p->headers);
	t->invite = strcmp(p->method, "INVITE") == 0;
	t->stateful = strcmp(p->method, "ACK") != 0;
	t->scopes = p->scopes;
	t->sendh = p->sendh;
	t->resph = p->resph;
	t->arg = p->arg;
	t->mb = mem_ref(p->mb);
	t->callid = mem_ref(p->callid);
	t->from_tag = mem_ref(p->from_tag);
	t->cseq = p->cseq;
	if (str_dup(&t->method, p->method) || str_dup(&t->uri, p->uri))
		return -ENOMEM;
	return 0;
}

static int handle_new(struct client_request **ret, struct client_transaction *t)
{
	struct client_request *client =
		mem_zalloc(sizeof(*client), handle_destructor);

	if (!client)
		return -ENOMEM;
	client->place = ret;
	client->transaction = t;
	t->handle = client;
	*ret = client;
	return 0;
}

int client_request_send(struct client_request **ret,
			const struct client_request_params *params)
{
	struct transaction_layer *layer = params->user->layer;
	struct resolve_params search = {
		.dnsc = transport_dnsc(layer->transport),
		.af = sa_af(transport_laddr(layer->transport)),
		.hosts = params->hosts,
		.host_count = params->host_count,
		.key = params->key,
		.handler = resolved_handler,
	};
	struct client_transaction *t;
	int err;

	layer->failure[0] = '\0';
	if (layer->closing)
		return -ECONNABORTED;
	t = transaction_new(params->user);
	if (!t)
		return -ENOMEM;
	search.arg = t;
	err = transaction_fill(t, params);
	if (!err)
		err = resolve_start(&t->resolve, &t->to, &search);
	if (!err && !t->resolve)
		err = attempt_next(t);
	if (!err && ret && (t->resolve || t->stateful))
		err = handle_new(ret, t);
	if (err || (!t->resolve && !t->stateful))
		mem_deref(t);
	else if (t->resolve)
		list_append(&layer->resolving, &t->le, t);
	return err;
}

void client_request_cancel(struct client_request *client)
{
	if (client && client->transaction && client->transaction->invite)
		give_up(client->transaction);
}

/* ---- CANCEL, and ACK to 300 to 699 ---- */

static bool route_write(const struct sip_hdr *hdr, const struct sip_msg *msg,
			void *arg)
{
	(void)msg;
	return mbuf_printf(arg, "Route: %r\r\n", &hdr->val) != 0;
}

/* Write the fields that both copy from the INVITE (RFC 3261 9.1, 17.1.1.3). */
static int derived_write(struct mbuf *mb, const struct client_transaction *t,
			 const char *method, const struct sip_msg *invite,
			 const struct sip_msg *answer)
{
	const struct header_list *custom = custom_headers(t);
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
	if (!err && t->layer->software &&
	    !headers_find(custom, scopes, "User-Agent"))
		err = neg(mbuf_printf(mb, "User-Agent: %s\r\n",
				      t->layer->software));
	if (!err)
		err = headers_write(mb, custom, scopes);
	if (!err)
		err = neg(mbuf_write_str(mb, "Content-Length: 0\r\n\r\n"));
	mb->pos = 0;
	return err;
}

static int derive(struct mbuf **ret, const struct client_transaction *t,
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

/* Send CANCEL in a transaction of its own, with the branch of the INVITE. */
static void cancel_send(struct client_transaction *t)
{
	struct client_transaction *c = transaction_new(t->user);

	if (!c)
		return;
	c->stateful = true;
	c->hop = t->hop;
	c->state = CLIENT_CALLING;
	c->callid = mem_ref(t->callid);
	c->from_tag = mem_ref(t->from_tag);
	c->cseq = t->cseq;
	(void)str_copy(c->branch, sizeof(c->branch), t->branch);
	if (str_dup(&c->method, "CANCEL") ||
	    derive(&c->wire, t, "CANCEL", NULL) ||
	    transport_send(c->layer->transport, &c->hop, c->wire, &c->watch)) {
		mem_deref(c);
		return;
	}
	c->hop.name = NULL; /* of t, which may end before */
	launched(c, CLIENT_TIMEOUT_MS);
}

static void give_up(struct client_transaction *t)
{
	t->cancelled = true;
	if (t->cancel_sent || t->state != CLIENT_PROCEEDING)
		return;
	t->cancel_sent = true;
	/* After this the INVITE is considered cancelled (9.1). */
	mono_timer_start(&t->tmr, CLIENT_TIMEOUT_MS, timeout_handler, t);
	cancel_send(t);
}

/* ---- responses, ICMP errors ---- */

/* Free the request and its destinations. A completed transaction of a method other
 * than INVITE sends nothing more; it only absorbs repeated responses until timer K. */
static void message_release(struct client_transaction *t)
{
	t->hop.name = NULL; /* of `to` */
	destinations_release(&t->to);
	t->mb = mem_deref(t->mb);
	t->wire = mem_deref(t->wire);
}

static void completed(struct client_transaction *t, uint32_t wait_ms)
{
	t->state = CLIENT_COMPLETED;
	if (!t->invite)
		message_release(t);
	hash_unlink(&t->he_calling);
	mono_timer_cancel(&t->tmr_again);
	/* no repetitions over reliable transports */
	mono_timer_start(&t->tmr, t->hop.tp == SIP_TRANSP_UDP ? wait_ms : 0,
			 timeout_handler, t);
}

static void ack_send(struct client_transaction *t, const struct sip_msg *msg)
{
	if (!t->ack && derive(&t->ack, t, "ACK", msg))
		return;
	(void)transport_send(t->layer->transport, &t->hop, t->ack, NULL);
}

static uint64_t timer_f_left_ms(const struct client_transaction *t)
{
	int64_t gone_ms = (clock_mono_ns() - t->launched_ns) / 1000000;

	return gone_ms < CLIENT_TIMEOUT_MS
		       ? (uint64_t)(CLIENT_TIMEOUT_MS - gone_ms)
		       : 0;
}

static void provisional(struct client_transaction *t, const struct sip_msg *msg)
{
	t->state = CLIENT_PROCEEDING;
	hash_unlink(&t->he_calling);
	if (t->invite) {
		mono_timer_cancel(&t->tmr_again);
		if (!t->cancel_sent)
			mono_timer_cancel(&t->tmr);
	} else {
		/* Timer F continues (17.1.2.2). FAILOVER_MS does not apply to a
		 * host that has answered. */
		mono_timer_start(&t->tmr, timer_f_left_ms(t), timeout_handler,
				 t);
	}
	if (t->cancelled)
		give_up(t);
	if (t->resph)
		t->resph(0, msg, t->arg);
}

static void final(struct client_transaction *t, const struct sip_msg *msg)
{
	if (t->invite && msg->scode >= 300)
		ack_send(t, msg);
	if (msg->scode == 503 && !t->cancelled && t->resph &&
	    t->next < t->to.count) {
		failure_note(t, 0, "503 Service Unavailable");
		attempt_stop(t);
		t->ack = mem_deref(t->ack);
		if (attempt_next(t) == 0)
			return;
	}
	if (t->invite && msg->scode < 300) {
		/* The caller handles repeated 2xx, as it has the ACK. */
		hash_unlink(&t->he);
		mono_timer_cancel(&t->tmr);
		mono_timer_cancel(&t->tmr_again);
		terminate(t, 0, msg);
		mem_deref(t);
		return;
	}
	completed(t, t->invite ? COMPLETED_MS : SIP_T4);
	terminate(t, 0, msg);
}

static bool match_handler(struct le *le, void *arg)
{
	const struct client_transaction *t = le->data;
	const struct sip_msg *msg = arg;

	return !pl_strcmp(&msg->via.branch, t->branch) &&
	       !pl_strcmp(&msg->cseq.met, t->method);
}

/* Check the fields that a response copies from the request (8.2.6.2). The branch
 * would suffice for a correct peer (17.1.3). */
static bool dialog_is_ours(const struct client_transaction *t,
			   const struct sip_msg *msg)
{
	return !pl_strcmp(&msg->callid, t->callid) &&
	       !pl_strcmp(&msg->from.tag, t->from_tag) &&
	       msg->cseq.num == t->cseq;
}

static struct client_transaction *transaction_find(
	struct transaction_layer *layer, const struct sip_msg *msg)
{
	if (!pl_isset(&msg->via.branch))
		return NULL;
	return list_ledata(hash_lookup(layer->clients,
				       hash_joaat_pl(&msg->via.branch),
				       match_handler, (void *)(uintptr_t)msg));
}

void client_transaction_discarded(struct transaction_layer *layer,
				  const struct sip_msg *msg, const char *why)
{
	struct client_transaction *t = transaction_find(layer, msg);

	if (t)
		t->discarded = why;
}

bool client_transaction_response(struct transaction_layer *layer,
				 const struct sip_msg *msg)
{
	struct client_transaction *t = transaction_find(layer, msg);

	if (!t)
		return false;
	if (!dialog_is_ours(t, msg)) {
		t->discarded = "its Call-ID, From tag or CSeq is not the "
			       "request's";
		return true;
	}
	if (t->state == CLIENT_COMPLETED) {
		if (t->invite && msg->scode >= 300)
			ack_send(t, msg);
		return true;
	}
	if (msg->scode < 200)
		provisional(t, msg);
	else
		final(t, msg);
	return true;
}

static bool unreachable_handler(struct le *le, void *arg)
{
	const struct client_transaction *t = le->data;

	return t->state == CLIENT_CALLING && t->hop.tp == SIP_TRANSP_UDP &&
	       sa_cmp(&t->hop.addr, arg, SA_ALL);
}

void client_transaction_unreachable(struct transaction_layer *layer,
				    const struct sa *dst, int err)
{
	struct sa addr = *dst;
	struct le *le;

	/* Each tries its next address, or fails. */
	while ((le = hash_lookup(layer->calling, sa_hash(&addr, SA_ALL),
				 unreachable_handler, &addr)))
		attempt_failed(le->data, err, NULL);
}

void client_transaction_close_all(struct transaction_layer *layer)
{
	uint32_t chains = hash_bsize(layer->clients);
	struct le *le;

	layer->closing = true;
	for (uint32_t i = 0; i < chains; i++) {
		while ((le = list_head(hash_list(layer->clients, i)))) {
			struct client_transaction *t = le->data;

			hash_unlink(&t->he);
			if (t->state != CLIENT_COMPLETED)
				terminate(t, ECONNABORTED, NULL);
			mem_deref(t);
		}
	}
	while ((le = list_head(&layer->resolving))) {
		struct client_transaction *t = le->data;

		terminate(t, ECONNABORTED, NULL);
		mem_deref(t);
	}
}
