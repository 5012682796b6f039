#include "sip/call/replaces.h"

#include <errno.h>
#include <string.h>

#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/call/early_dialog.h"
#include "sip/call/native_call.h"
#include "sip/call/uac.h"
#include "sip/dialog/dialog.h"
#include "sip/message/headers.h"
#include "sip/message/text.h"
#include "sip/ua/ua_internal.h"

#define REPLACES_BYTES 512

/* RFC 3891 6.1: call-id, then to-tag, from-tag and early-only in any order */
struct replaces {
	struct pl callid;
	struct pl to_tag; /* ours, of the dialog to replace */
	struct pl from_tag;
	bool early_only;
};

static int replaces_read(struct replaces *ret, const struct pl *value)
{
	struct replaces r = {.early_only = false};
	struct pl params, flag;

	if (re_regex(value->p, value->l, "[^; \t\r\n]+[ \t\r\n]*;[^]+",
		     &r.callid, NULL, &params))
		return -EBADMSG;
	/* msg_param_decode() wants the semicolon too */
	params.p--;
	params.l++;
	if (msg_param_decode(&params, "to-tag", &r.to_tag) ||
	    msg_param_decode(&params, "from-tag", &r.from_tag))
		return -EBADMSG;
	r.early_only = !msg_param_exists(&params, "early-only", &flag);
	*ret = r;
	return 0;
}

static bool match_handler(struct le *le, void *arg)
{
	const struct sip_call *call = le->data;
	const struct replaces *r = arg;
	const struct dialog *dialog = call->dialog;
	struct le *branch;

	if (pl_strcmp(&r->callid, dialog->callid) ||
	    pl_strcmp(&r->to_tag, dialog->ltag))
		return false;
	if (dialog->rtag && !pl_strcmp(&r->from_tag, dialog->rtag))
		return true;
	LIST_FOREACH(&call->early, branch)
	{
		const struct early *early = branch->data;

		if (early->dialog->rtag &&
		    !pl_strcmp(&r->from_tag, early->dialog->rtag))
			return true;
	}
	return false;
}

/* RFC 3891 section 3 @return 0, else the answer that refuses it */
static uint16_t replaceable(const struct sip_call *old,
			    const struct replaces *r)
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
	struct replaces r;
	uint16_t code;

	if (!hdr)
		return 0;
	if (sip_msg_hdr_count(msg, SIP_HDR_REPLACES) != 1 ||
	    replaces_read(&r, &hdr->val))
		return 400;
	old = list_ledata(hash_lookup(call->ua->calls, hash_joaat_pl(&r.callid),
				      match_handler, &r));
	if (!old)
		return 481;
	code = replaceable(old, &r);
	if (code == 0)
		call->replaces = mem_ref(old);
	return code;
}

void replaces_done(struct sip_call *call)
{
	static const char why[] = "replaced by another call";
	struct sip_call *old = call->replaces;

	if (!old)
		return;
	call->replaces = NULL;
	if (old->state == CALL_INVITING) {
		call_set_end(old, SIP_END_CANCELLED, true, 0, why);
		uac_cancel(old);
	} else if (old->state == CALL_UP) {
		call_set_end(old, SIP_END_LOCAL, true, 0, why);
		call_bye(old);
	} else if (old->state == CALL_ACCEPTED) {
		old->bye_after_ack = true;
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
			dialog->callid, dialog->rtag, dialog->ltag) < 0)
		return -ENAMETOOLONG;
	pl_set_str(&pl, text);
	return text_print(ret, "%s?Replaces=%H", other->peer, uri_header_escape,
			  &pl);
}

int replaces_referred(char **ret, const struct uri *uri)
{
	static const struct pl name = {"Replaces", 8};
	struct replaces r;
	struct pl value;
	char *text;
	int err;

	if (!pl_isset(&uri->headers) ||
	    uri_header_get(&uri->headers, &name, &value))
		return 0;
	err = text_print(&text, "%H", uri_header_unescape, &value);
	if (err)
		return err;
	pl_set_str(&value, text);
	if (!header_text_valid(text) || replaces_read(&r, &value)) {
		mem_deref(text);
		return -EBADMSG;
	}
	*ret = text;
	return 0;
}

const struct sip_call *native_call_replaced(const struct sip_call *call)
{
	return call->replaces;
}
