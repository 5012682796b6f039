#include "sip/call/replaces.h"

#include <errno.h>
#include <string.h>

#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/call_table.h"
#include "sip/call/call_user.h"
#include "sip/call/fork.h"
#include "sip/call/native_call.h"
#include "sip/call/uac.h"
#include "sip/dialog/dialog.h"
#include "sip/message/replaces_header.h"
#include "sip/message/text.h"

#define REPLACES_BYTES 512

static bool match_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;
	const struct replaces_header *r = arg;
	const struct dialog *dialog = call->dialog;
	struct le *branch;

	if (pl_strcmp(&r->callid, dialog_callid(dialog)) ||
	    pl_strcmp(&r->to_tag, dialog_local_tag(dialog)))
		return false;
	if (dialog_remote_tag(dialog) &&
	    !pl_strcmp(&r->from_tag, dialog_remote_tag(dialog)))
		return true;
	LIST_FOREACH(&call->branches.early, branch)
	{
		const struct early *early = branch->data;

		if (dialog_remote_tag(early->dialog) &&
		    !pl_strcmp(&r->from_tag, dialog_remote_tag(early->dialog)))
			return true;
	}
	return false;
}

/* RFC 3891 section 3 @return 0, else the answer that refuses it */
static uint16_t replaceable(const struct sip_call *old,
			    const struct replaces_header *r)
{
	switch (old->state) {
	case CALL_INVITING:
		return 0;
	case CALL_INCOMING: /* an early dialog that we did not begin */
		return 481;
	case CALL_ACCEPTED:
	case CALL_UP:
		return r->early_only ? 486 : 0;
	case CALL_ENDING:
	case CALL_DONE:
		break;
	}
	return 603;
}

uint16_t replaces_take(struct sip_call *call, const struct sip_msg *msg)
{
	const struct sip_hdr *hdr = sip_msg_hdr(msg, SIP_HDR_REPLACES);
	struct sip_call *old;
	struct replaces_header r;
	uint16_t code;

	if (!hdr)
		return 0;
	if (sip_msg_hdr_count(msg, SIP_HDR_REPLACES) != 1 ||
	    replaces_header_read(&r, &hdr->val))
		return 400;
	old = call_table_find(call->user->table, &r.callid, match_handler, &r);
	if (!old)
		return 481;
	code = replaceable(old, &r);
	if (code == 0)
		call->uas.replaces = mem_ref(old);
	return code;
}

void replaces_done(struct sip_call *call)
{
	static const char why[] = "replaced by another call";
	struct sip_call *old = call->uas.replaces;

	if (!old)
		return;
	call->uas.replaces = NULL;
	if (old->state == CALL_INVITING) {
		call_set_end(old, SIP_END_CANCELLED, true, 0, why);
		uac_cancel(old);
	} else if (old->state == CALL_UP) {
		call_set_end(old, SIP_END_LOCAL, true, 0, why);
		call_bye(old);
	} else if (old->state == CALL_ACCEPTED) {
		old->uas.bye_after_ack = true;
	}
	mem_deref(old);
}

int replaces_refer(char **ret, const struct sip_call *other)
{
	const struct dialog *dialog = other->dialog;
	char text[REPLACES_BYTES];
	struct pl pl;

	/* as the other side of the dialog sees it */
	if (re_snprintf(text, sizeof(text), "%s;to-tag=%s;from-tag=%s",
			dialog_callid(dialog), dialog_remote_tag(dialog),
			dialog_local_tag(dialog)) < 0)
		return -ENAMETOOLONG;
	pl_set_str(&pl, text);
	return text_print(ret, "%s?Replaces=%H", other->peer, uri_header_escape,
			  &pl);
}

const struct sip_call *native_call_replaced(const struct sip_call *call)
{
	return call->uas.replaces;
}
