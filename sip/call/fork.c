#include "sip/call/fork.h"

#include <errno.h>
#include <string.h>

#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/message/digest.h"

/* Further branches whose 2xx we acknowledge and end by BYE; a 2xx of more
 * branches is ignored. */
#define CALL_FORKS_MAX 16

/*
 * A 2xx of another branch of our INVITE (RFC 3261 13.2.2.4): we have the
 * call we want, this one is acknowledged and ended. The call's list and the
 * BYE hold a reference each.
 */
struct fork {
	struct le le;
	const struct originator *origin; /* its owner is referenced */
	struct dialog *dialog;
	struct digest *digest;
	struct client_request *ack;
	struct client_request *bye;
	uint32_t challenges; /* of the BYE: see digest_challenge() */
	uint32_t cseq;
};

static void fork_destructor(void *arg)
{
	struct fork *fork = arg;

	list_unlink(&fork->le);
	mem_deref(fork->ack);
	mem_deref(fork->dialog);
	mem_deref(fork->digest);
	originator_unref(fork->origin);
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
	const struct dialog_request_params request = {
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
	    digest_challenge(fork->digest, &fork->challenges, msg) == 0 &&
	    bye_send(fork) == 0)
		return;
	mem_deref(fork);
}

static int bye_send(struct fork *fork)
{
	const struct dialog_request_params request = {
		.method = "BYE",
		.resph = bye_response,
		.arg = fork,
	};

	fork->bye = NULL;
	return dialog_send(&fork->bye, fork->origin, fork->dialog, fork->digest,
			   &request);
}

static struct early *branch_find(const struct list *list,
				 const struct sip_msg *msg)
{
	struct le *le;

	LIST_FOREACH(list, le)
	{
		struct early *early = le->data;

		if (dialog_match(early->dialog, msg))
			return early;
	}
	return NULL;
}

static int fork_make(struct fork **ret, const struct call_branches *branches,
		     const struct originator *origin,
		     const struct dialog *dialog, const struct sip_msg *msg)
{
	const struct early *early = branch_find(&branches->unanswered, msg);
	struct fork *fork = mem_zalloc(sizeof(*fork), fork_destructor);
	int err;

	if (!fork)
		return -ENOMEM;
	fork->origin = originator_ref(origin);
	fork->cseq = msg->cseq.num;
	err = originator_digest(&fork->digest, origin);
	if (!err)
		err = dialog_branch(&fork->dialog, dialog, msg);
	if (err) {
		mem_deref(fork);
		return err;
	}
	if (early)
		dialog_continue(fork->dialog, early->dialog);
	*ret = fork;
	return 0;
}

void fork_answered(struct call_branches *branches,
		   const struct originator *origin, const struct dialog *dialog,
		   const struct sip_msg *msg)
{
	struct fork *fork;
	struct le *le;

	LIST_FOREACH(&branches->answered, le)
	{
		fork = le->data;
		if (dialog_match(fork->dialog, msg)) {
			ack_send(
				fork); /* the 2xx came again: our ACK was lost */
			return;
		}
	}
	if (list_count(&branches->answered) >= CALL_FORKS_MAX ||
	    fork_make(&fork, branches, origin, dialog, msg))
		return;
	list_append(&branches->answered, &fork->le, fork);
	ack_send(fork);
	mem_ref(fork);
	if (bye_send(fork))
		mem_deref(fork);
}

/* ---- early dialogs ---- */

/* Early dialogs of an INVITE; provisional responses of more branches make
 * none. */
#define CALL_EARLY_MAX 16

static void early_destructor(void *arg)
{
	struct early *early = arg;

	list_unlink(&early->le);
	mem_deref(early->dialog);
	mem_deref(early->remote);
}

struct early *early_find(const struct call_branches *branches,
			 const struct sip_msg *msg)
{
	return branch_find(&branches->early, msg);
}

struct early *early_take(struct call_branches *branches,
			 const struct dialog *dialog, const struct sip_msg *msg)
{
	struct early *early = early_find(branches, msg);

	if (early) {
		dialog_refresh(early->dialog, msg);
		return early;
	}
	if (list_count(&branches->early) >= CALL_EARLY_MAX)
		return NULL;
	early = mem_zalloc(sizeof(*early), early_destructor);
	if (!early)
		return NULL;
	if (dialog_branch(&early->dialog, dialog, msg))
		return mem_deref(early);
	list_append(&branches->early, &early->le, early);
	return early;
}

void early_settle(struct early *early, struct sdp *remote)
{
	mem_deref(early->remote);
	early->remote = mem_ref(remote);
	early->answered = true;
	early->settled = true;
}

void early_confirm(struct call_branches *branches, struct dialog *dialog,
		   const struct sip_msg *msg)
{
	struct early *early = early_find(branches, msg);

	if (early) {
		dialog_continue(dialog, early->dialog);
		list_unlink(&early->le);
		mem_deref(early);
	}
	while ((early = list_ledata(list_head(&branches->early)))) {
		list_unlink(&early->le);
		early->remote = mem_deref(early->remote);
		list_append(&branches->unanswered, &early->le, early);
	}
}
