#include "sip/call/redirect.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sip/call.h"
#include "sip/call/call_internal.h"
#include "sip/dialog/dialog.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/transport/transport.h"

/* Targets a call knows, tried and not yet. */
#define TARGETS_MAX 32

/* A target of the call (RFC 3261 8.1.3.4). */
struct target {
	struct le le;
	char *uri;
	unsigned q; /* thousandths */
};

static void target_destructor(void *arg)
{
	struct target *target = arg;

	list_unlink(&target->le);
	mem_deref(target->uri);
}

/* qvalue of RFC 3261 25.1: 0 to 1 with three decimals; 1 if there is none */
static unsigned q_read(const struct pl *params)
{
	double q = 1;
	char text[8];
	struct pl pl;

	if (msg_param_decode(params, "q", &pl) || pl.l >= sizeof(text) ||
	    pl_strcpy(&pl, text, sizeof(text)) || str_to_double(text, &q) ||
	    q < 0 || q > 1)
		return 1000;
	return (unsigned)(q * 1000 + 0.5);
}

static bool known(const struct list *list, const struct pl *uri)
{
	struct le *le;

	LIST_FOREACH(list, le)
	{
		const struct target *target = le->data;

		if (!pl_strcasecmp(uri, target->uri))
			return true;
	}
	return false;
}

static int target_new(struct target **ret, const struct pl *uri)
{
	struct target *target = mem_zalloc(sizeof(*target), target_destructor);

	if (!target)
		return -ENOMEM;
	if (pl_strdup(&target->uri, uri)) {
		mem_deref(target);
		return -ENOMEM;
	}
	*ret = target;
	return 0;
}

/* Behind those with the same or a higher q. */
static void target_insert(struct list *list, struct target *target)
{
	struct le *le = list_head(list);

	while (le && ((struct target *)le->data)->q >= target->q)
		le = le->next;
	if (le)
		list_insert_before(list, le, &target->le, target);
	else
		list_append(list, &target->le, target);
}

static bool contact_handler(const struct sip_hdr *hdr,
			    const struct sip_msg *msg, void *arg)
{
	struct sip_call *call = arg;
	struct target *target;
	struct sip_addr addr;
	(void)msg;

	if (sip_addr_decode(&addr, &hdr->val) ||
	    (pl_strcasecmp(&addr.uri.scheme, "sip") &&
	     pl_strcasecmp(&addr.uri.scheme, "sips")))
		return false;
	/* What stands behind '?' are headers, not ours to copy unseen. */
	if (addr.uri.headers.l)
		addr.auri.l = (size_t)(addr.uri.headers.p - addr.auri.p);
	if (known(&call->redirect.tried, &addr.auri) ||
	    known(&call->redirect.targets, &addr.auri) ||
	    list_count(&call->redirect.targets) +
			    list_count(&call->redirect.tried) >=
		    TARGETS_MAX)
		return false;
	if (target_new(&target, &addr.auri))
		return true;
	target->q = q_read(&addr.params);
	target_insert(&call->redirect.targets, target);
	return false;
}

/* An INVITE to the best target that is left. */
static int next(struct sip_call *call, redirect_invite_h *invite_h)
{
	struct target *target = list_ledata(list_head(&call->redirect.targets));
	struct call_event *event;
	int err;

	if (!target)
		return -ENOENT;
	if (call->redirect.count >= call->options.redirects_max)
		return -ELOOP;
	call->redirect.count++;
	list_unlink(&target->le);
	list_append(&call->redirect.tried, &target->le, target);
	err = dialog_retarget(call->dialog, call->origin, target->uri);
	if (err)
		return err;
	list_flush(&call->branches.early);
	call->uac.last_provisional = 0;
	digest_begin(call->digest);
	event = call_event(call, SIP_CALL_REDIRECTED, false,
			   transport_event_ns(call->transport));
	if (event)
		event->target = mem_ref(target->uri);
	return invite_h(call);
}

bool redirect_away(const struct sip_call *call)
{
	return call->redirect.count > 0 &&
	       dialog_bypasses_target(call->dialog, call->origin);
}

bool redirect_next(struct sip_call *call, redirect_invite_h *invite_h)
{
	int err;

	do {
		err = next(call, invite_h);
	} while (err && err != -ENOENT && err != -ELOOP);
	return !err;
}

bool redirect_take(struct sip_call *call, const struct sip_msg *msg,
		   redirect_invite_h *invite_h, char *reason)
{
	struct target *first;
	struct pl pl;

	msg_line(reason, REASON_BYTES, msg);
	if (call->options.redirects_max == 0)
		return false;
	pl_set_str(&pl, dialog_target(call->dialog));
	if (!known(&call->redirect.tried, &pl) && target_new(&first, &pl) == 0)
		list_append(&call->redirect.tried, &first->le, first);
	sip_msg_hdr_apply(msg, true, SIP_HDR_CONTACT, contact_handler, call);
	if (redirect_next(call, invite_h))
		return true;
	if (!list_isempty(&call->redirect.targets))
		str_print(reason, REASON_BYTES, "redirected more than %u times",
			  call->options.redirects_max);
	else if (sip_msg_hdr_count(msg, SIP_HDR_CONTACT))
		str_print(reason, REASON_BYTES,
			  "redirected in a loop, every contact was tried");
	return false;
}
