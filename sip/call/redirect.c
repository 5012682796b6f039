#include "sip/call/redirect.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "sip/message/message.h"
#include "sip/message/text.h"

/* Targets of a call, tried or not; further contacts are ignored. */
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

/* Insert after the targets with the same or a higher q. */
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
	struct call_redirect *r = arg;
	struct target *target;
	struct sip_addr addr;
	(void)msg;

	if (sip_addr_decode(&addr, &hdr->val) ||
	    (pl_strcasecmp(&addr.uri.scheme, "sip") &&
	     pl_strcasecmp(&addr.uri.scheme, "sips")))
		return false;
	/* the headers part of a URI (after '?') is not copied into our
	 * INVITE */
	if (addr.uri.headers.l)
		addr.auri.l = (size_t)(addr.uri.headers.p - addr.auri.p);
	if (known(&r->tried, &addr.auri) || known(&r->targets, &addr.auri) ||
	    list_count(&r->targets) + list_count(&r->tried) >= TARGETS_MAX)
		return false;
	if (target_new(&target, &addr.auri))
		return true;
	target->q = q_read(&addr.params);
	target_insert(&r->targets, target);
	return false;
}

int redirect_next(char **ret, struct call_redirect *r, uint32_t max)
{
	struct target *target = list_ledata(list_head(&r->targets));

	if (!target)
		return -ENOENT;
	if (r->count >= max)
		return -ELOOP;
	r->count++;
	list_unlink(&target->le);
	list_append(&r->tried, &target->le, target);
	*ret = target->uri;
	return 0;
}

void redirect_take(struct call_redirect *r, const char *target,
		   const struct sip_msg *msg)
{
	struct target *first;
	struct pl pl;

	pl_set_str(&pl, target);
	if (!known(&r->tried, &pl) && target_new(&first, &pl) == 0)
		list_append(&r->tried, &first->le, first);
	sip_msg_hdr_apply(msg, true, SIP_HDR_CONTACT, contact_handler, r);
}

void redirect_reason(char *reason, const struct call_redirect *r, uint32_t max,
		     const struct sip_msg *msg)
{
	msg_line(reason, REASON_BYTES, msg);
	if (max == 0)
		return;
	if (!list_isempty(&r->targets))
		str_print(reason, REASON_BYTES, "redirected more than %u times",
			  max);
	else if (sip_msg_hdr_count(msg, SIP_HDR_CONTACT))
		str_print(reason, REASON_BYTES,
			  "redirected in a loop, every contact was tried");
}

bool redirect_happened(const struct call_redirect *r)
{
	return r->count > 0;
}

void redirect_release(struct call_redirect *r)
{
	list_flush(&r->targets);
	list_flush(&r->tried);
}
