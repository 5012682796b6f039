#include "sip/event/notify.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "sip/body/mwi.h"
#include "sip/body/presence.h"
#include "sip/message/message.h"
#include "sip/transaction/server_transaction.h"

static void word_copy(char *dst, size_t size, const struct pl *word)
{
	(void)re_snprintf(dst, size, "%r", word);
}

/* Subscription-State: active;expires=60 (RFC 6665 8.2.3) */
static int state_read(struct notify *n, const struct sip_msg *msg)
{
	const struct sip_hdr *hdr =
		sip_msg_hdr(msg, SIP_HDR_SUBSCRIPTION_STATE);
	struct pl pl;

	if (n->unsolicited) {
		(void)str_copy(n->state, sizeof(n->state), "unsolicited");
		if (!hdr)
			return 0;
	}
	if (!hdr || re_regex(hdr->val.p, hdr->val.l, "[^; \t]+", &pl))
		return -EBADMSG;
	if (!n->unsolicited)
		word_copy(n->state, sizeof(n->state), &pl);
	n->terminated = !pl_strcasecmp(&pl, "terminated");
	if (!msg_param_decode(&hdr->val, "reason", &pl))
		word_copy(n->reason, sizeof(n->reason), &pl);
	if (!msg_param_decode(&hdr->val, "expires", &pl)) {
		n->has_expires = true;
		n->expires_s = pl_u32(&pl);
	}
	if (!msg_param_decode(&hdr->val, "retry-after", &pl))
		n->retry_after_s = pl_u32(&pl);
	return 0;
}

/* @return 0; else the status that refuses the NOTIFY */
static uint16_t body_read(struct notify *n, enum sip_package package,
			  const struct sip_msg *msg)
{
	const char *text = msg->mb ? (const char *)mbuf_buf(msg->mb) : NULL;
	size_t len = msg_body_length(msg);
	const char *type = event_type(package);
	const char *slash = strchr(type, '/');
	int err;

	if (len == 0)
		return 0;
	if (pl_strcasecmp(&msg->ctyp.subtype, slash + 1) ||
	    pl_strcasecmp(&msg->ctyp.type, "application"))
		return 415;
	err = package == SIP_PACKAGE_PRESENCE
		      ? presence_parse(&n->presence, text, len)
		      : mwi_parse(&n->mwi, text, len);
	n->has_body = !err;
	return err ? 400 : 0;
}

bool notify_read(struct notify *n, struct transaction_layer *layer,
		 enum sip_package package, const struct sip_msg *msg)
{
	enum sip_package named;
	struct pl id;
	uint16_t code;
	int err = event_read(&named, &id, msg);

	if (err || named != package || pl_isset(&id)) {
		(void)server_transaction_reply(NULL, layer, msg, 489,
					       "Bad Event");
		return false;
	}
	if (state_read(n, msg)) {
		(void)server_transaction_reply(NULL, layer, msg, 400,
					       "Bad Subscription-State");
		return false;
	}
	code = body_read(n, package, msg);
	if (code == 415)
		(void)server_transaction_replyf(
			NULL, NULL, layer, msg, false, code,
			"Unsupported Media Type",
			"Accept: %s\r\nContent-Length: 0\r\n\r\n",
			event_type(package));
	else if (code)
		(void)server_transaction_reply(NULL, layer, msg, code,
					       "Bad Body");
	return code == 0;
}
