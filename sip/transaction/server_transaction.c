#include "sip/transaction/server_transaction.h"

#include <errno.h>
#include <string.h>

#include "sip/error.h"
#include "sip/message/message.h"
#include "sip/mono_timer.h"
#include "sip/transaction/response.h"
#include "sip/transaction/retransmit.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/transport/ceiling.h"
#include "sip/transport/hop.h"
#include "sip/transport/transport.h"

/* RFC 3261 17.2: timers H, I and J */
#define WAIT_MS (64 * SIP_T1)

/* Estimate of what a transaction keeps beside the request. */
#define SERVER_BYTES 2048
#define HEADER_BYTES 160

enum server_state {
	SERVER_TRYING,
	SERVER_PROCEEDING,
	SERVER_ACCEPTED, /* 2xx to INVITE; the call repeats it (13.3.1.4) */
	SERVER_COMPLETED,
	SERVER_CONFIRMED,
};

struct server_transaction {
	struct le he;
	struct le he_merge;
	struct transaction_layer *layer;
	struct sip_msg *msg;
	struct mbuf *mb; /* the last response */
	struct hop hop;
	enum server_state state;
	size_t bytes;
	bool invite;
	bool own;      /* it owns itself: the final response was sent */
	unsigned sent; /* transmissions of the final response */
	struct mono_timer tmr;
	struct mono_timer tmr_again;
	sip_cancel_h *cancel_h;
	void *arg;
};

static void server_destructor(void *arg)
{
	struct server_transaction *server = arg;

	hash_unlink(&server->he);
	hash_unlink(&server->he_merge);
	mono_timer_cancel(&server->tmr);
	mono_timer_cancel(&server->tmr_again);
	ceiling_give(transport_ceilings(server->layer->transport),
		     CEILING_SERVERS, server->bytes);
	mem_deref(server->msg);
	mem_deref(server->mb);
}

int server_transaction_new(struct server_transaction **ret,
			   struct transaction_layer *layer,
			   const struct sip_msg *msg, sip_cancel_h *cancel_h,
			   void *arg)
{
	struct ceilings *ceilings = transport_ceilings(layer->transport);
	size_t bytes = SERVER_BYTES + (msg->mb ? msg->mb->size : 0) +
		       HEADER_BYTES * list_count(&msg->hdrl);
	struct server_transaction *server;

	if (!ceiling_take(ceilings, CEILING_SERVERS, bytes))
		return -ENOBUFS;
	server = mem_zalloc(sizeof(*server), server_destructor);
	if (!server) {
		ceiling_give(ceilings, CEILING_SERVERS, bytes);
		return -ENOMEM;
	}
	server->layer = layer;
	server->bytes = bytes;
	server->msg = msg_ref(msg);
	server->invite = !pl_strcmp(&msg->met, "INVITE");
	server->cancel_h = cancel_h;
	server->arg = arg;
	hash_append(layer->servers, hash_joaat_pl(&msg->via.branch),
		    &server->he, server);
	hash_append(layer->merges, hash_joaat_pl(&msg->callid),
		    &server->he_merge, server);
	*ret = server;
	return 0;
}

/* ---- responses ---- */

int server_transaction_resend(struct transaction_layer *layer,
			      const struct sip_msg *msg, struct mbuf *mb)
{
	struct hop hop;

	response_hop(&hop, msg);
	return transport_send(layer->transport, &hop, mb, NULL);
}

static void wait_handler(void *arg)
{
	mem_deref(arg);
}

static void again_handler(void *arg)
{
	struct server_transaction *server = arg;

	server->sent++;
	(void)transport_send(server->layer->transport, &server->hop, server->mb,
			     NULL);
	mono_timer_start(&server->tmr_again,
			 retransmit_interval_ms(server->sent, SIP_T2),
			 again_handler, server);
}

/* The final response was sent: keep the transaction as long as the request may be
 * repeated. */
static void finish(struct server_transaction *server, uint16_t code)
{
	bool reliable = server->hop.tp != SIP_TRANSP_UDP;

	server->own = true;
	server->cancel_h = NULL;
	mono_timer_start(&server->tmr, WAIT_MS, wait_handler, server);
	if (server->invite && code < 300) {
		server->state = SERVER_ACCEPTED;
		return;
	}
	server->state = SERVER_COMPLETED;
	server->sent = 1;
	if (server->invite && !reliable)
		mono_timer_start(&server->tmr_again, SIP_T1, again_handler,
				 server);
	if (!server->invite && reliable)
		mem_deref(server);
}

static int reply_send(struct server_transaction **place,
		      struct transaction_layer *layer,
		      const struct sip_msg *msg, uint16_t code, struct mbuf *mb)
{
	struct server_transaction *server = place ? *place : NULL;
	int err = 0;

	if (!server)
		err = server_transaction_new(&server, layer, msg, NULL, NULL);
	if (err == -ENOBUFS)
		return server_transaction_resend(layer, msg, mb);
	if (err)
		return err;
	response_hop(&server->hop, msg);
	mem_deref(server->mb);
	server->mb = mem_ref(mb);
	err = transport_send(layer->transport, &server->hop, mb, NULL);
	if (place)
		*place = err || code >= 200 ? NULL : server;
	if (err) {
		mem_deref(server);
		return err;
	}
	if (code >= 200)
		finish(server, code);
	else
		server->state = SERVER_PROCEEDING;
	return 0;
}

int server_transaction_replyf(struct server_transaction **server,
			      struct mbuf **ret_mb,
			      struct transaction_layer *layer,
			      const struct sip_msg *msg, bool routes,
			      uint16_t code, const char *reason,
			      const char *fmt, ...)
{
	struct mbuf *mb = NULL;
	va_list args;
	int err;

	if (!pl_strcmp(&msg->met, "ACK"))
		return 0;
	err = response_begin(&mb, layer->software, msg, routes, code, reason);
	if (!err && fmt) {
		va_start(args, fmt);
		err = neg(mbuf_vprintf(mb, fmt, args));
		va_end(args);
	} else if (!err) {
		err = response_end(mb);
	}
	if (mb)
		mb->pos = 0;
	if (!err)
		err = reply_send(server, layer, msg, code, mb);
	else if (server)
		*server = mem_deref(*server);
	if (!err && ret_mb)
		*ret_mb = mb;
	else
		mem_deref(mb);
	return err;
}

int server_transaction_reply(struct server_transaction **server,
			     struct transaction_layer *layer,
			     const struct sip_msg *msg, uint16_t code,
			     const char *reason)
{
	return server_transaction_replyf(server, NULL, layer, msg, false, code,
					 reason, NULL);
}

int server_transaction_reply_once(struct transaction_layer *layer,
				  const struct sip_msg *msg, uint16_t code,
				  const char *reason)
{
	struct mbuf *mb = NULL;
	int err;

	if (!pl_strcmp(&msg->met, "ACK"))
		return 0;
	err = response_begin(&mb, layer->software, msg, false, code, reason);
	if (!err)
		err = response_end(mb);
	if (!err) {
		mb->pos = 0;
		err = server_transaction_resend(layer, msg, mb);
	}
	mem_deref(mb);
	return err;
}

/* ---- requests ---- */

static bool same_branch(const struct sip_msg *a, const struct sip_msg *b)
{
	return !pl_cmp(&a->via.branch, &b->via.branch) &&
	       !pl_cmp(&a->via.sentby, &b->via.sentby);
}

static bool repeated_handler(struct le *le, void *arg)
{
	const struct server_transaction *server = le->data;
	const struct sip_msg *msg = arg;

	return same_branch(server->msg, msg) &&
	       !pl_cmp(&server->msg->cseq.met, &msg->cseq.met);
}

static bool invite_handler(struct le *le, void *arg)
{
	const struct server_transaction *server = le->data;

	return server->invite && same_branch(server->msg, arg);
}

/* Find the same request that came over another path (8.2.2.2). */
static bool merged_handler(struct le *le, void *arg)
{
	const struct sip_msg *before =
		((const struct server_transaction *)le->data)->msg;
	const struct sip_msg *msg = arg;

	return !pl_cmp(&before->callid, &msg->callid) &&
	       !pl_cmp(&before->from.tag, &msg->from.tag) &&
	       !pl_cmp(&before->cseq.met, &msg->cseq.met) &&
	       before->cseq.num == msg->cseq.num &&
	       !pl_cmp(&before->ruri, &msg->ruri);
}

static struct server_transaction *find(struct hash *hash, const struct pl *key,
				       list_apply_h *match,
				       const struct sip_msg *msg)
{
	return list_ledata(hash_lookup(hash, hash_joaat_pl(key), match,
				       (void *)(uintptr_t)msg));
}

static bool ack_received(struct transaction_layer *layer,
			 const struct sip_msg *msg)
{
	struct server_transaction *server =
		find(layer->servers, &msg->via.branch, invite_handler, msg);

	/* the ACK to a 2xx is for the call */
	if (!server || server->state == SERVER_ACCEPTED)
		return false;
	if (server->state == SERVER_COMPLETED) {
		server->state = SERVER_CONFIRMED;
		mono_timer_cancel(&server->tmr_again);
		mono_timer_start(&server->tmr,
				 server->hop.tp == SIP_TRANSP_UDP ? SIP_T4 : 0,
				 wait_handler, server);
	}
	return true;
}

static bool cancel_received(struct transaction_layer *layer,
			    const struct sip_msg *msg)
{
	struct server_transaction *server =
		find(layer->servers, &msg->via.branch, invite_handler, msg);

	if (!server)
		return false;
	/* Both responses have the same To tag (9.2). */
	((struct sip_msg *)(uintptr_t)msg)->tag = server->msg->tag;
	(void)server_transaction_reply(NULL, layer, msg, 200, "OK");
	if (server->cancel_h)
		server->cancel_h(server->arg);
	return true;
}

bool server_transaction_request(struct transaction_layer *layer,
				const struct sip_msg *msg)
{
	struct server_transaction *server;

	if (!pl_isset(&msg->via.branch))
		return false;
	if (!pl_strcmp(&msg->met, "ACK"))
		return ack_received(layer, msg);
	server = find(layer->servers, &msg->via.branch, repeated_handler, msg);
	if (server) {
		if (server->state == SERVER_PROCEEDING ||
		    server->state == SERVER_COMPLETED)
			(void)transport_send(layer->transport, &server->hop,
					     server->mb, NULL);
		return true;
	}
	if (!pl_strcmp(&msg->met, "CANCEL"))
		return cancel_received(layer, msg);
	if (!pl_isset(&msg->to.tag) &&
	    find(layer->merges, &msg->callid, merged_handler, msg)) {
		(void)server_transaction_reply_once(layer, msg, 482,
						    "Loop Detected");
		return true;
	}
	return false;
}

static bool close_handler(struct le *le, void *arg)
{
	struct server_transaction *server = le->data;
	(void)arg;

	if (server->own)
		mem_deref(server);
	return false;
}

void server_transaction_close_all(struct transaction_layer *layer)
{
	hash_apply(layer->servers, close_handler, NULL);
}
