#include "sip/call/early_dialog.h"

#include "sip/call/call_internal.h"
#include "sip/dialog/dialog.h"

/* Branches of an INVITE whose early dialogs are known. */
#define CALL_EARLY_MAX 16

static void early_destructor(void *arg)
{
	struct early *early = arg;

	list_unlink(&early->le);
	mem_deref(early->dialog);
	mem_deref(early->remote);
}

struct early *early_find(const struct sip_call *call, const struct sip_msg *msg)
{
	struct le *le;

	LIST_FOREACH(&call->early, le)
	{
		struct early *early = le->data;

		if (dialog_match(early->dialog, msg))
			return early;
	}
	return NULL;
}

struct early *early_take(struct sip_call *call, const struct sip_msg *msg)
{
	struct early *early = early_find(call, msg);

	if (early) {
		dialog_refresh(early->dialog, msg);
		return early;
	}
	if (list_count(&call->early) >= CALL_EARLY_MAX)
		return NULL;
	early = mem_zalloc(sizeof(*early), early_destructor);
	if (!early)
		return NULL;
	if (dialog_branch(&early->dialog, call->dialog, msg))
		return mem_deref(early);
	list_append(&call->early, &early->le, early);
	return early;
}

void early_settle(const struct sip_call *call, struct early *early)
{
	mem_deref(early->remote);
	early->remote = mem_ref(call->remote);
	early->answered = true;
	early->settled = true;
}

void early_confirm(struct sip_call *call, const struct sip_msg *msg)
{
	const struct early *early = early_find(call, msg);

	if (early && early->dialog->lseq > call->dialog->lseq)
		call->dialog->lseq = early->dialog->lseq;
	if (early)
		call->dialog->rseq = early->dialog->rseq;
	list_flush(&call->early);
}

struct dialog *call_dialog(const struct sip_call *call,
			   const struct sip_msg *msg)
{
	const struct early *early;

	if (dialog_match(call->dialog, msg))
		return call->dialog;
	early = early_find(call, msg);
	return early ? early->dialog : NULL;
}
