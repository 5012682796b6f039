#include "sip/call/fork.h"

#include <errno.h>
#include <string.h>

#include "sip/call/call_internal.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/ua/account_internal.h"

/* Other branches of an INVITE that are ended; more are left alone. */
#define CALL_FORKS_MAX 16

/*
 * A 2xx of another branch of our INVITE (RFC 3261 13.2.2.4): we have the
 * call we want, this one is acknowledged and ended. The call's list and the
 * BYE hold a reference each.
 */
struct fork {
	struct le le;
	struct sip_account *account;
	const struct originator *origin; /* the account's */
	struct dialog *dialog;
	struct digest *digest;
	struct client_request *ack;
	struct client_request *bye;
	uint32_t cseq;
};

static void fork_destructor(void *arg)
{
	struct fork *fork = arg;

	list_unlink(&fork->le);
	mem_deref(fork->ack);
	mem_deref(fork->dialog);
	mem_deref(fork->digest);
	mem_deref(fork->account);
}

static int nothing_handler(enum sip_transp tp, const struct sa *src,
			   const struct sa *dst, struct mbuf *mb, void *arg)
{
	(void)tp;
	(void)src;
	(void)dst;
	(void)mb;
	(void)arg;
	return 0;
}

static void ack_send(struct fork *fork)
{
	const struct request request = {
		.method = "ACK",
		.ack_cseq = fork->cseq,
		.sendh = nothing_handler,
		.arg = fork,
	};

	fork->ack = mem_deref(fork->ack);
	(void)dialog_send(&fork->ack, fork->origin, fork->dialog, fork->digest,
			  &request);
}

static int bye_send(struct fork *fork);

static void bye_response(int err, const struct sip_msg *msg, void *arg)
{
	struct fork *fork = arg;

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(fork->digest, msg) == 0 && bye_send(fork) == 0)
		return;
	mem_deref(fork);
}

static int bye_send(struct fork *fork)
{
	const struct request request = {
		.method = "BYE",
		.resph = bye_response,
		.arg = fork,
	};

	fork->bye = NULL;
	return dialog_send(&fork->bye, fork->origin, fork->dialog, fork->digest,
			   &request);
}

static int fork_make(struct fork **ret, struct sip_call *call,
		     const struct sip_msg *msg)
{
	struct fork *fork = mem_zalloc(sizeof(*fork), fork_destructor);
	int err;

	if (!fork)
		return -ENOMEM;
	fork->account = mem_ref(call->account);
	fork->origin = call->origin;
	fork->cseq = msg->cseq.num;
	err = account_digest(&fork->digest, call->account);
	if (!err)
		err = dialog_branch(&fork->dialog, call->dialog, msg);
	if (err) {
		mem_deref(fork);
		return err;
	}
	digest_begin(fork->digest);
	*ret = fork;
	return 0;
}

void fork_answered(struct sip_call *call, const struct sip_msg *msg)
{
	struct fork *fork;
	struct le *le;

	LIST_FOREACH(&call->forks, le)
	{
		fork = le->data;
		if (dialog_match(fork->dialog, msg)) {
			ack_send(fork); /* the first one was lost */
			return;
		}
	}
	if (list_count(&call->forks) >= CALL_FORKS_MAX ||
	    fork_make(&fork, call, msg))
		return;
	list_append(&call->forks, &fork->le, fork);
	ack_send(fork);
	mem_ref(fork);
	if (bye_send(fork))
		mem_deref(fork);
}
