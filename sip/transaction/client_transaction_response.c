#include "sip/transaction/client_transaction_internal.h"

#include <errno.h>

#include "base/clock.h"
#include "sip/ua/ua_internal.h"

#define COMPLETED_MS 32000 /* RFC 3261 17.1: timer D */

static void completed(struct client_transaction *t, uint32_t wait_ms)
{
	t->state = CLIENT_COMPLETED;
	hash_unlink(&t->he_calling);
	mono_timer_cancel(&t->tmr_again);
	/* Reliable transports repeat nothing. */
	mono_timer_start(&t->tmr, t->hop.tp == SIP_TRANSP_UDP ? wait_ms : 0,
			 client_transaction_timeout, t);
}

static void ack_send(struct client_transaction *t, const struct sip_msg *msg)
{
	if (!t->ack && client_transaction_derive(&t->ack, t, "ACK", msg))
		return;
	(void)transport_send(t->ua->sip, &t->hop, t->ack, NULL);
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
		/* Timer F goes on (17.1.2.2); a shorter wait for this host, as
		 * another one is left, is over: it is alive. */
		mono_timer_start(&t->tmr, timer_f_left_ms(t),
				 client_transaction_timeout, t);
	}
	if (t->cancelled)
		client_transaction_give_up(t);
	if (t->resph)
		t->resph(0, msg, t->arg);
}

static void final(struct client_transaction *t, const struct sip_msg *msg)
{
	if (t->invite && msg->scode >= 300)
		ack_send(t, msg);
	if (msg->scode == 503 && !t->cancelled && t->resph &&
	    t->next < t->to.count) {
		client_transaction_failure_note(t, 0,
						"503 Service Unavailable");
		client_transaction_attempt_stop(t);
		t->ack = mem_deref(t->ack);
		if (client_transaction_attempt_next(t) == 0)
			return;
	}
	if (t->invite && msg->scode < 300) {
		/* Repetitions are the caller's: it has the ACK. */
		hash_unlink(&t->he);
		mono_timer_cancel(&t->tmr);
		mono_timer_cancel(&t->tmr_again);
		client_transaction_terminate(t, 0, msg);
		mem_deref(t);
		return;
	}
	completed(t, t->invite ? COMPLETED_MS : SIP_T4);
	client_transaction_terminate(t, 0, msg);
}

static bool match_handler(struct le *le, void *arg)
{
	const struct client_transaction *t = le->data;
	const struct sip_msg *msg = arg;

	return !pl_strcmp(&msg->via.branch, t->branch) &&
	       !pl_strcmp(&msg->cseq.met, t->method);
}

/* 8.2.6.2: copied from the request. The branch alone would do for a peer that
 * keeps the rules (17.1.3). */
static bool dialog_is_ours(const struct client_transaction *t,
			   const struct sip_msg *msg)
{
	return !pl_strcmp(&msg->callid, t->callid) &&
	       !pl_strcmp(&msg->from.tag, t->from_tag) &&
	       msg->cseq.num == t->cseq;
}

static struct client_transaction *transaction_find(struct sip_ua *ua,
						   const struct sip_msg *msg)
{
	if (!pl_isset(&msg->via.branch))
		return NULL;
	return list_ledata(hash_lookup(ua->clients,
				       hash_joaat_pl(&msg->via.branch),
				       match_handler, (void *)(uintptr_t)msg));
}

void client_transaction_discarded(struct sip_ua *ua, const struct sip_msg *msg,
				  const char *why)
{
	struct client_transaction *t = transaction_find(ua, msg);

	if (t)
		t->discarded = why;
}

bool client_transaction_response(struct sip_ua *ua, const struct sip_msg *msg)
{
	struct client_transaction *t = transaction_find(ua, msg);

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

void client_transaction_unreachable(struct sip_ua *ua, const struct sa *dst,
				    int err)
{
	struct sa addr = *dst;
	struct le *le;

	/* Each goes on to another address, or ends. */
	while ((le = hash_lookup(ua->calling, sa_hash(&addr, SA_ALL),
				 unreachable_handler, &addr)))
		client_transaction_attempt_failed(le->data, err, NULL);
}

void client_transaction_close_all(struct sip_ua *ua)
{
	uint32_t chains = hash_bsize(ua->clients);
	struct le *le;

	ua->closing = true; /* none is added */
	for (uint32_t i = 0; i < chains; i++) {
		while ((le = list_head(hash_list(ua->clients, i)))) {
			struct client_transaction *t = le->data;

			hash_unlink(&t->he);
			if (t->state != CLIENT_COMPLETED)
				client_transaction_terminate(t, ECONNABORTED,
							     NULL);
			mem_deref(t);
		}
	}
	while ((le = list_head(&ua->resolving))) {
		struct client_transaction *t = le->data;

		client_transaction_terminate(t, ECONNABORTED, NULL);
		mem_deref(t);
	}
}
