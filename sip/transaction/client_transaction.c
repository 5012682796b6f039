#include "sip/transaction/client_transaction.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "sip/message/error.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/transaction/client_transaction_internal.h"
#include "sip/transaction/retransmit.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

/* Another host is left: it is not waited for as long. */
#define FAILOVER_MS 8000

struct client_request {
	struct client_request **place; /* the holder's pointer */
	struct client_transaction *transaction;
};

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
	mem_deref(t->account);
}

struct client_transaction *client_transaction_new(struct sip_account *account)
{
	struct client_transaction *t =
		mem_zalloc(sizeof(*t), transaction_destructor);

	if (!t)
		return NULL;
	t->ua = account->ua;
	t->account = mem_ref(account);
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
		client_transaction_give_up(t);
}

/* The holder hears no more of it; it may begin another one at once. */
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

void client_transaction_terminate(struct client_transaction *t, int err,
				  const struct sip_msg *msg)
{
	sip_resp_h *resph = t->resph;

	handle_detach(t);
	t->resph = NULL;
	t->sendh = NULL;
	if (resph)
		resph(err, msg, t->arg);
}

void client_transaction_failure_note(struct client_transaction *t, int err,
				     const char *reason)
{
	const char *tp = sip_transp_name(t->hop.tp);
	char last[40] = "";
	char text[REASON_BYTES];

	if (t->to.count > 1)
		str_print(last, sizeof(last), " (the last of %zu hosts)",
			  t->to.count);
	if (reason)
		str_print(text, sizeof(text), "%s", reason);
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
	str_print(t->ua->failure, sizeof(t->ua->failure), "%s%s", text, last);
}

void client_transaction_attempt_stop(struct client_transaction *t)
{
	mono_timer_cancel(&t->tmr);
	mono_timer_cancel(&t->tmr_again);
	list_unlink(&t->watch.le);
	hash_unlink(&t->he_calling);
}

void client_transaction_attempt_failed(struct client_transaction *t, int err,
				       const char *reason)
{
	client_transaction_failure_note(t, err, reason);
	client_transaction_attempt_stop(t);
	if (!t->cancelled && t->resph &&
	    client_transaction_attempt_next(t) == 0)
		return;
	client_transaction_terminate(t, err, NULL);
	mem_deref(t);
}

static void closed_handler(int err, const char *reason, void *arg)
{
	struct client_transaction *t = arg;

	/* After a provisional response to INVITE the final one may come over
	 * another connection (RFC 3261 18.2.2). */
	if (t->state == CLIENT_CALLING ||
	    (t->state == CLIENT_PROCEEDING && !t->invite))
		client_transaction_attempt_failed(t, err, reason);
}

void client_transaction_timeout(void *arg)
{
	struct client_transaction *t = arg;

	if (t->state == CLIENT_COMPLETED)
		mem_deref(t);
	else
		client_transaction_attempt_failed(t, ETIMEDOUT, NULL);
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
	err = transport_send(t->ua->sip, &t->hop, t->wire, NULL);
	if (err)
		client_transaction_attempt_failed(t, -err, NULL);
}

const struct header_list *client_transaction_headers(
	const struct client_transaction *t)
{
	return t->headers ? t->headers : &t->account->headers;
}

/* What the sender adds for this transport; a custom Contact replaces its. The
 * handler of an ACK keeps the message, and adds nothing. */
static int sender_write(struct client_transaction *t, struct mbuf *mb)
{
	const struct header_list *custom = client_transaction_headers(t);
	struct mbuf *own;
	char *text = NULL;
	int err;

	if (!t->stateful || !headers_find(custom, t->scopes, "Contact"))
		return neg(t->sendh(t->hop.tp, &t->ua->laddr, &t->hop.addr, mb,
				    t->arg));
	own = mbuf_alloc(128);
	if (!own)
		return -ENOMEM;
	err = neg(
		t->sendh(t->hop.tp, &t->ua->laddr, &t->hop.addr, own, t->arg));
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
	struct mbuf *mb = mbuf_alloc(1024);
	int err;

	if (!mb)
		return -ENOMEM;
	err = text_append(mb, t->method, " ", t->uri, " SIP/2.0\r\n",
			  "Via: SIP/2.0/", sip_transp_name(t->hop.tp), " ",
			  t->ua->sent_by, ";branch=", t->branch, ";rport\r\n",
			  NULL);
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

void client_transaction_launched(struct client_transaction *t,
				 uint32_t timeout_ms)
{
	hash_unlink(&t->he_calling);
	if (t->hop.tp == SIP_TRANSP_UDP)
		hash_append(t->ua->calling, sa_hash(&t->hop.addr, SA_ALL),
			    &t->he_calling, t);
	hash_append(t->ua->clients, hash_joaat_str(t->branch), &t->he, t);
	t->launched_ns = clock_mono_ns();
	t->sent = 1;
	mono_timer_start(&t->tmr, timeout_ms, client_transaction_timeout, t);
	if (t->hop.tp == SIP_TRANSP_UDP)
		mono_timer_start(&t->tmr_again, SIP_T1, again_handler, t);
}

static int attempt_send(struct client_transaction *t)
{
	bool more = t->next < t->to.count;
	int err;

	hash_unlink(&t->he);
	str_print(t->branch, sizeof(t->branch), "z9hG4bK%08x%08x", random_u32(),
		  random_u32());
	err = wire_write(t);
	if (err)
		return err;
	t->state = CLIENT_CALLING;
	t->discarded = NULL;
	err = transport_send(t->ua->sip, &t->hop, t->wire, &t->watch);
	if (err || !t->stateful)
		return err;
	client_transaction_launched(t, more ? FAILOVER_MS : CLIENT_TIMEOUT_MS);
	return 0;
}

int client_transaction_attempt_next(struct client_transaction *t)
{
	int err = -EHOSTUNREACH;

	while (t->next < t->to.count) {
		const struct destination *d = &t->to.list[t->next++];

		t->hop = (struct hop){
			.tp = d->tp,
			.addr = d->addr,
			.tls = t->account->tls,
			.name = t->account->tls_name ? t->account->tls_name
						     : d->name,
		};
		err = attempt_send(t);
		if (!err)
			return 0;
		client_transaction_failure_note(t, -err, NULL);
	}
	return err;
}

static void resolved_handler(int err, void *arg)
{
	struct client_transaction *t = arg;

	list_unlink(&t->le);
	t->resolve = mem_deref(t->resolve);
	t->ua->failure[0] = '\0';
	if (!err)
		err = t->cancelled ? ECANCELED
				   : -client_transaction_attempt_next(t);
	if (err)
		client_transaction_terminate(t, err, NULL);
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
	struct client_transaction *t;
	int err;

	params->account->ua->failure[0] = '\0';
	if (params->account->ua->closing)
		return -ECONNABORTED;
	t = client_transaction_new(params->account);
	if (!t)
		return -ENOMEM;
	err = transaction_fill(t, params);
	if (!err)
		err = resolve_start(&t->resolve, t->ua, params->hosts,
				    params->host_count, params->key, &t->to,
				    resolved_handler, t);
	if (!err && !t->resolve)
		err = client_transaction_attempt_next(t);
	if (!err && ret && (t->resolve || t->stateful))
		err = handle_new(ret, t);
	if (err || (!t->resolve && !t->stateful))
		mem_deref(t);
	else if (t->resolve)
		list_append(&t->ua->resolving, &t->le, t);
	return err;
}

void client_request_cancel(struct client_request *client)
{
	if (client && client->transaction && client->transaction->invite)
		client_transaction_give_up(client->transaction);
}
