#include "sip/client.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/conn.h"
#include "sip/internal.h"

/* RFC 3261 17.1: timers B, F, D and K */
#define TIMEOUT_MS   (64 * SIP_T1)
#define COMPLETED_MS 32000

/* Another host is left: it is not waited for as long. */
#define FAILOVER_MS 8000

#define BRANCH_BYTES 32

enum client_state {
	CLIENT_RESOLVING,
	CLIENT_CALLING, /* sent; for other methods than INVITE: trying */
	CLIENT_PROCEEDING,
	CLIENT_COMPLETED, /* told; repetitions are taken */
};

/* The transaction itself; it owns itself and lives in ua->clients. */
struct transaction {
	struct le he;
	struct sip_ua *ua;
	struct sip_account *account;
	struct header_list *headers; /* instead of the account's; or NULL */
	struct client *handle;       /* NULL: nobody listens */
	char *method;
	char *uri;
	struct mbuf *mb;
	bool invite;
	bool stateful;
	unsigned scopes;
	bool cancelled;
	bool cancel_sent;
	sip_send_h *sendh;
	sip_resp_h *resph;
	void *arg;

	struct le le; /* in ua->resolving */
	struct resolve *resolve;
	struct destinations to;
	size_t next; /* of `to` */

	/* the attempt under way */
	enum client_state state;
	struct hop hop;
	char branch[BRANCH_BYTES];
	struct mbuf *wire;
	struct mbuf *ack; /* of a refused INVITE */
	unsigned sent;
	struct tmr tmr;
	struct tmr tmr_again;
	struct conn_watch watch;
};

struct client {
	struct client **place; /* the holder's pointer */
	struct transaction *transaction;
};

static int attempt_next(struct transaction *t);
static void cancel(struct transaction *t);

static void transaction_destructor(void *arg)
{
	struct transaction *t = arg;

	hash_unlink(&t->he);
	list_unlink(&t->le);
	tmr_cancel(&t->tmr);
	tmr_cancel(&t->tmr_again);
	list_unlink(&t->watch.le);
	mem_deref(t->resolve);
	destinations_release(&t->to);
	mem_deref(t->method);
	mem_deref(t->uri);
	mem_deref(t->mb);
	mem_deref(t->wire);
	mem_deref(t->ack);
	mem_deref(t->headers);
	mem_deref(t->account);
}

static void handle_destructor(void *arg)
{
	struct client *client = arg;
	struct transaction *t = client->transaction;

	if (!t)
		return;
	t->handle = NULL;
	t->resph = NULL;
	t->sendh = NULL;
	if (t->state == CLIENT_RESOLVING || !t->stateful)
		mem_deref(t);
	else if (t->invite)
		cancel(t);
}

/* The holder hears no more of it; it may begin another one at once. */
static void handle_detach(struct transaction *t)
{
	struct client *client = t->handle;

	if (!client)
		return;
	t->handle = NULL;
	client->transaction = NULL;
	*client->place = NULL;
	mem_deref(client);
}

static void terminate(struct transaction *t, int err, const struct sip_msg *msg)
{
	sip_resp_h *resph = t->resph;

	handle_detach(t);
	t->resph = NULL;
	t->sendh = NULL;
	if (resph)
		resph(err, msg, t->arg);
}

static void failure_note(struct transaction *t, int err, const char *reason)
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
	else if (err == ETIMEDOUT)
		(void)re_snprintf(text, sizeof(text),
				  "no answer from %J over %s within %u s",
				  &t->hop.addr, tp, TIMEOUT_MS / 1000);
	else
		(void)re_snprintf(text, sizeof(text),
				  "cannot reach %J over %s: %m", &t->hop.addr,
				  tp, err);
	str_print(t->ua->failure, sizeof(t->ua->failure), "%s%s", text, last);
}

/* This host is of no use: the next one, or the end of it. */
static void attempt_failed(struct transaction *t, int err, const char *reason)
{
	failure_note(t, err, reason);
	tmr_cancel(&t->tmr);
	tmr_cancel(&t->tmr_again);
	list_unlink(&t->watch.le);
	if (!t->cancelled && t->resph && attempt_next(t) == 0)
		return;
	terminate(t, err, NULL);
	mem_deref(t);
}

static void closed_handler(int err, const char *reason, void *arg)
{
	struct transaction *t = arg;

	/* After a provisional response to INVITE the final one may come over
	 * another connection (RFC 3261 18.2.2). */
	if (t->state == CLIENT_CALLING ||
	    (t->state == CLIENT_PROCEEDING && !t->invite))
		attempt_failed(t, err, reason);
}

static void timeout_handler(void *arg)
{
	struct transaction *t = arg;

	if (t->state == CLIENT_COMPLETED)
		mem_deref(t);
	else
		attempt_failed(t, ETIMEDOUT, NULL);
}

static void again_handler(void *arg)
{
	struct transaction *t = arg;
	uint32_t wait_ms = t->sent < 8 ? (uint32_t)SIP_T1 << t->sent : SIP_T2;
	int err;

	t->sent++;
	if (t->state == CLIENT_PROCEEDING || (!t->invite && wait_ms > SIP_T2))
		wait_ms = SIP_T2;
	tmr_start(&t->tmr_again, wait_ms, again_handler, t);
	err = transport_send(t->ua->sip, &t->hop, t->wire, NULL);
	if (err)
		attempt_failed(t, -err, NULL);
}

static const struct header_list *custom_of(const struct transaction *t)
{
	return t->headers ? t->headers : &t->account->headers;
}

/* What the sender adds for this transport; a custom Contact replaces its. The
 * handler of an ACK keeps the message, and adds nothing. */
static int sender_write(struct transaction *t, struct mbuf *mb)
{
	const struct header_list *custom = custom_of(t);
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

static int wire_write(struct transaction *t)
{
	struct mbuf *mb = mbuf_alloc(1024);
	int err;

	if (!mb)
		return -ENOMEM;
	err = neg(mbuf_printf(mb,
			      "%s %s SIP/2.0\r\n"
			      "Via: SIP/2.0/%s %J;branch=%s;rport\r\n",
			      t->method, t->uri, sip_transp_name(t->hop.tp),
			      &t->ua->laddr, t->branch));
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

static int attempt_send(struct transaction *t)
{
	bool more = t->next < t->to.count;
	int err;

	hash_unlink(&t->he);
	str_print(t->branch, sizeof(t->branch), "z9hG4bK%08x%08x", rand_u32(),
		  rand_u32());
	err = wire_write(t);
	if (err)
		return err;
	t->state = CLIENT_CALLING;
	t->sent = 0;
	err = transport_send(t->ua->sip, &t->hop, t->wire, &t->watch);
	if (err || !t->stateful)
		return err;
	hash_append(t->ua->clients, hash_joaat_str(t->branch), &t->he, t);
	tmr_start(&t->tmr, more ? FAILOVER_MS : TIMEOUT_MS, timeout_handler, t);
	if (t->hop.tp == SIP_TRANSP_UDP)
		tmr_start(&t->tmr_again, SIP_T1, again_handler, t);
	return 0;
}

/* @return 0 sent; -errno no host is left, and why the last one failed */
static int attempt_next(struct transaction *t)
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
		failure_note(t, -err, NULL);
	}
	return err;
}

static void resolved_handler(int err, void *arg)
{
	struct transaction *t = arg;

	list_unlink(&t->le);
	t->resolve = mem_deref(t->resolve);
	t->ua->failure[0] = '\0';
	if (!err)
		err = t->cancelled ? ECANCELED : -attempt_next(t);
	if (err)
		terminate(t, err, NULL);
	else if (!t->stateful)
		handle_detach(t);
	if (err || !t->stateful)
		mem_deref(t);
}

static int transaction_fill(struct transaction *t,
			    const struct client_params *p)
{
	t->ua = p->account->ua;
	t->account = mem_ref(p->account);
	t->headers = mem_ref(p->headers);
	t->invite = strcmp(p->method, "INVITE") == 0;
	t->stateful = strcmp(p->method, "ACK") != 0;
	t->scopes = p->scopes;
	t->sendh = p->sendh;
	t->resph = p->resph;
	t->arg = p->arg;
	t->mb = mem_ref(p->mb);
	t->watch.closed_h = closed_handler;
	t->watch.arg = t;
	if (str_dup(&t->method, p->method) || str_dup(&t->uri, p->uri))
		return -ENOMEM;
	return 0;
}

static int handle_new(struct client **ret, struct transaction *t)
{
	struct client *client = mem_zalloc(sizeof(*client), handle_destructor);

	if (!client)
		return -ENOMEM;
	client->place = ret;
	client->transaction = t;
	t->handle = client;
	*ret = client;
	return 0;
}

int client_send(struct client **ret, const struct client_params *params)
{
	struct transaction *t;
	int err;

	params->account->ua->failure[0] = '\0';
	if (params->account->ua->closing)
		return -ECONNABORTED;
	t = mem_zalloc(sizeof(*t), transaction_destructor);
	if (!t)
		return -ENOMEM;
	err = transaction_fill(t, params);
	if (!err)
		err = resolve_start(&t->resolve, t->ua, params->hosts,
				    params->host_count, params->key, &t->to,
				    resolved_handler, t);
	if (!err && !t->resolve)
		err = attempt_next(t);
	if (!err && ret && (t->resolve || t->stateful))
		err = handle_new(ret, t);
	if (err || (!t->resolve && !t->stateful))
		mem_deref(t);
	else if (t->resolve)
		list_append(&t->ua->resolving, &t->le, t);
	return err;
}

/* ---- CANCEL, and the ACK to a refusal ---- */

static bool route_write(const struct sip_hdr *hdr, const struct sip_msg *msg,
			void *arg)
{
	(void)msg;
	return mbuf_printf(arg, "Route: %r\r\n", &hdr->val) != 0;
}

/* RFC 3261 9.1 and 17.1.1.3: what both take over from the INVITE. */
static int derived_write(struct mbuf *mb, const struct transaction *t,
			 const char *method, const struct sip_msg *invite,
			 const struct sip_msg *answer)
{
	const struct header_list *custom = custom_of(t);
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

static int derive(struct mbuf **ret, const struct transaction *t,
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
		err = neg(sip_msg_decode(&invite, copy));
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
static void cancel_send(struct transaction *t)
{
	struct transaction *c = mem_zalloc(sizeof(*c), transaction_destructor);

	if (!c)
		return;
	c->ua = t->ua;
	c->account = mem_ref(t->account);
	c->stateful = true;
	c->hop = t->hop;
	c->hop.name = NULL;
	c->state = CLIENT_CALLING;
	c->watch.closed_h = closed_handler;
	c->watch.arg = c;
	(void)str_copy(c->branch, sizeof(c->branch), t->branch);
	if (str_dup(&c->method, "CANCEL") ||
	    derive(&c->wire, t, "CANCEL", NULL) ||
	    transport_send(c->ua->sip, &c->hop, c->wire, &c->watch)) {
		mem_deref(c);
		return;
	}
	hash_append(c->ua->clients, hash_joaat_str(c->branch), &c->he, c);
	tmr_start(&c->tmr, TIMEOUT_MS, timeout_handler, c);
	if (c->hop.tp == SIP_TRANSP_UDP)
		tmr_start(&c->tmr_again, SIP_T1, again_handler, c);
}

static void cancel(struct transaction *t)
{
	t->cancelled = true;
	if (t->cancel_sent || t->state != CLIENT_PROCEEDING)
		return;
	t->cancel_sent = true;
	/* The final response is awaited no longer than this (9.1). */
	tmr_start(&t->tmr, TIMEOUT_MS, timeout_handler, t);
	cancel_send(t);
}

void client_cancel(struct client *client)
{
	if (client && client->transaction && client->transaction->invite)
		cancel(client->transaction);
}

/* ---- responses ---- */

static void completed(struct transaction *t, uint32_t wait_ms)
{
	t->state = CLIENT_COMPLETED;
	tmr_cancel(&t->tmr_again);
	/* Reliable transports repeat nothing. */
	tmr_start(&t->tmr, t->hop.tp == SIP_TRANSP_UDP ? wait_ms : 0,
		  timeout_handler, t);
}

static void ack_send(struct transaction *t, const struct sip_msg *msg)
{
	if (!t->ack && derive(&t->ack, t, "ACK", msg))
		return;
	(void)transport_send(t->ua->sip, &t->hop, t->ack, NULL);
}

static void provisional(struct transaction *t, const struct sip_msg *msg)
{
	t->state = CLIENT_PROCEEDING;
	if (t->invite) {
		tmr_cancel(&t->tmr_again);
		if (!t->cancel_sent)
			tmr_cancel(&t->tmr);
	} else {
		tmr_start(&t->tmr, TIMEOUT_MS, timeout_handler, t);
	}
	if (t->cancelled)
		cancel(t);
	if (t->resph)
		t->resph(0, msg, t->arg);
}

static void final(struct transaction *t, const struct sip_msg *msg)
{
	if (t->invite && msg->scode >= 300)
		ack_send(t, msg);
	if (msg->scode == 503 && !t->cancelled && t->resph &&
	    t->next < t->to.count) {
		failure_note(t, 0, "503 Service Unavailable");
		tmr_cancel(&t->tmr);
		tmr_cancel(&t->tmr_again);
		list_unlink(&t->watch.le);
		t->ack = mem_deref(t->ack);
		if (attempt_next(t) == 0)
			return;
	}
	if (t->invite && msg->scode < 300) {
		/* Repetitions are the caller's: it has the ACK. */
		hash_unlink(&t->he);
		tmr_cancel(&t->tmr);
		tmr_cancel(&t->tmr_again);
		terminate(t, 0, msg);
		mem_deref(t);
		return;
	}
	completed(t, t->invite ? COMPLETED_MS : SIP_T4);
	terminate(t, 0, msg);
}

static bool match_handler(struct le *le, void *arg)
{
	const struct transaction *t = le->data;
	const struct sip_msg *msg = arg;

	return !pl_strcmp(&msg->via.branch, t->branch) &&
	       !pl_strcmp(&msg->cseq.met, t->method);
}

bool client_response(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct transaction *t;

	if (!pl_isset(&msg->via.branch))
		return false;
	t = list_ledata(hash_lookup(ua->clients,
				    hash_joaat_pl(&msg->via.branch),
				    match_handler, (void *)(uintptr_t)msg));
	if (!t)
		return false;
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

struct unreachable {
	const struct sa *dst;
};

static bool unreachable_handler(struct le *le, void *arg)
{
	const struct transaction *t = le->data;
	const struct unreachable *u = arg;

	return t->state == CLIENT_CALLING && t->hop.tp == SIP_TRANSP_UDP &&
	       sa_cmp(&t->hop.addr, u->dst, SA_ALL);
}

void client_unreachable(struct sip_ua *ua, const struct sa *dst, int err)
{
	struct unreachable u = {.dst = dst};
	struct le *le;

	/* Each goes on to another address, or ends. */
	while ((le = hash_apply(ua->clients, unreachable_handler, &u)))
		attempt_failed(le->data, err, NULL);
}

static bool any_handler(struct le *le, void *arg)
{
	(void)le;
	(void)arg;
	return true;
}

void client_close_all(struct sip_ua *ua)
{
	struct le *le;

	ua->closing = true;
	while ((le = hash_apply(ua->clients, any_handler, NULL))) {
		struct transaction *t = le->data;

		hash_unlink(&t->he);
		if (t->state != CLIENT_COMPLETED)
			terminate(t, ECONNABORTED, NULL);
		mem_deref(t);
	}
	while ((le = list_head(&ua->resolving))) {
		struct transaction *t = le->data;

		terminate(t, ECONNABORTED, NULL);
		mem_deref(t);
	}
}
