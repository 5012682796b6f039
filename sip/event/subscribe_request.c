#include "sip/event/subscribe_internal.h"

#include <errno.h>

#include "base/str.h"
#include "sip/dialog/contact.h"
#include "sip/events.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/transport/transport.h"
#include "sip/ua/account_internal.h"
#include "sip/ua/ua_internal.h"

static void first_answered(struct sip_subscription *s,
			   const struct sip_msg *msg)
{
	struct sip_subscription_info info = {
		.mono_ns = transport_received_ns(s->d.account->ua->transport),
		.code = msg->scode,
		.reason = s->reason,
	};
	uint32_t expires_s = event_seconds(msg, SIP_HDR_EXPIRES, s->sending_s);

	if (expires_s > s->sending_s)
		expires_s = s->sending_s; /* RFC 6665 4.2.1.1 */
	s->granted_s = expires_s;
	if (!s->answered) {
		s->answered = true;
		msg_line(s->reason, sizeof(s->reason), msg);
		subscription_tell(s, SIP_SUBSCRIBED, &info);
		s->reason[0] = '\0';
	}
	/* A NOTIFY that overtook it said how long, too. */
	if (s->state == SUBSCRIPTION_ASKING)
		mono_timer_start(&s->tmr_end, NOTIFY_WAIT_MS, subscription_end,
				 s);
}

static void answered(struct sip_subscription *s, const struct sip_msg *msg)
{
	uint32_t expires_s = event_seconds(msg, SIP_HDR_EXPIRES, s->sending_s);

	if (s->state == SUBSCRIPTION_ASKING || !s->answered)
		first_answered(s, msg);
	else if (s->state == SUBSCRIPTION_ACTIVE)
		subscription_granted(
			s, expires_s < s->sending_s ? expires_s : s->sending_s);
	/* LEAVING: the NOTIFY that says so comes, or 5 s are subscription_over. */
}

/* @return 0: it was asked again; else the reason stands in s->reason */
static int again(struct sip_subscription *s, const struct sip_msg *msg)
{
	uint32_t least;
	int err;

	msg_line(s->reason, sizeof(s->reason), msg);
	if (digest_asked(msg)) {
		err = digest_challenge(s->d.digest, msg);
		if (err)
			digest_reason(s->reason, sizeof(s->reason), err, msg);
		return err ? err : subscription_ask(s, s->sending_s);
	}
	least = event_seconds(msg, SIP_HDR_MIN_EXPIRES, 0);
	if (msg->scode != 423 || s->raised || least <= s->sending_s ||
	    least > SUBSCRIBE_EXPIRES_MAX_S || s->sending_s == 0)
		return -EACCES;
	s->raised = true;
	s->asked_s = least;
	return subscription_ask(s, least);
}

static void refused(struct sip_subscription *s, int err,
		    const struct sip_msg *msg)
{
	if (err)
		failure_reason(s->reason, sizeof(s->reason), s->d.account, err);
	else if (again(s, msg) == 0)
		return;
	/* A refresh that failed: the subscription lasts on as long as it was
	 * subscription_granted, unless the notifier does not know it (RFC 6665 4.1.2.2). */
	if (s->state == SUBSCRIPTION_ACTIVE && (err || msg->scode != 481)) {
		if (s->expired)
			subscription_end(s);
		return;
	}
	subscription_over(s, msg, s->reason);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_subscription *s = arg;

	if (!err && msg->scode < 200)
		return;
	mem_ref(s);
	if (!err && msg->scode < 300)
		answered(s, msg);
	else
		refused(s, err, err ? NULL : msg);
	mem_deref(s);
}

static int sent_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct sip_subscription *s = arg;
	(void)dst;

	return contact_write(mb, s->d.origin, src, tp);
}

int subscription_ask(struct sip_subscription *s, uint32_t expires_s)
{
	char lines[192];
	const struct request request = {
		.method = "SUBSCRIBE",
		.headers = lines,
		.sendh = sent_handler,
		.resph = response_handler,
		.arg = s,
	};

	s->sending_s = expires_s;
	str_print(lines, sizeof(lines),
		  "Event: %s\r\nAccept: %s\r\nExpires: %u\r\n",
		  sip_package_name(s->d.package), event_type(s->d.package),
		  expires_s);
	return event_dialog_send(&s->d, &request);
}
