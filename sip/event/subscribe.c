#include "sip/event/subscribe.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/dialog/peer.h"
#include "sip/event/event_dialog.h"
#include "sip/event/event_user.h"
#include "sip/event/notify.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"
#include "sip/transaction/server_transaction.h"

/* The first NOTIFY is due within 64*T1 (RFC 6665 4.1.2.4, timer N). */
#define NOTIFY_WAIT_MS (64 * SIP_T1)

/* Subscriptions are asked for at most a day. */
#define SUBSCRIBE_EXPIRES_MAX_S 86400

enum subscription_state {
	SUBSCRIPTION_ASKING, /* no NOTIFY yet */
	SUBSCRIPTION_PAUSED, /* a new one follows, now or after Retry-After */
	SUBSCRIPTION_ACTIVE,
	SUBSCRIPTION_LEAVING,
	SUBSCRIPTION_OVER,
};

struct sip_subscription {
	struct event_dialog d;
	char *uri;
	enum subscription_state state;
	uint32_t asked_s;   /* of the subscription */
	uint32_t sending_s; /* of the request under way */
	uint32_t granted_s;
	bool raised;   /* by a 423 */
	bool answered; /* SIP_SUBSCRIBED was told */
	bool expired;  /* during a refresh, whose response decides */
	unsigned renewals;
	struct mono_timer tmr; /* refresh */
	struct mono_timer
		tmr_end; /* limit of the wait for NOTIFY, refresh or end */
	char reason[REASON_BYTES];
	sip_subscription_h *handler;
	void *arg;
};

#define REFRESH_PERCENT 90 /* of what was granted */

/* New subscriptions after the notifier ended one, and the longest Retry-
 * After that we follow. */
#define RENEWALS_MAX      5
#define RETRY_AFTER_MAX_S 120

/* Send SUBSCRIBE. @return 0; -errno */
static int subscription_ask(struct sip_subscription *s, uint32_t expires_s);

static void destructor(void *arg)
{
	struct sip_subscription *s = arg;

	mono_timer_cancel(&s->tmr);
	mono_timer_cancel(&s->tmr_end);
	event_dialog_release(&s->d);
	mem_deref(s->uri);
}

static void subscription_tell(struct sip_subscription *s,
			      enum sip_subscription_event event,
			      struct sip_subscription_info *info)
{
	info->expires_s = s->granted_s;
	if (!info->reason)
		info->reason = "";
	if (s->handler)
		s->handler(s, event, info, s->arg);
}

static void subscription_over(struct sip_subscription *s,
			      const struct sip_msg *msg, const char *reason)
{
	struct sip_subscription_info info = {
		.mono_ns = msg ? originator_received_ns(s->d.origin)
			       : clock_mono_ns(),
		.code = msg && !msg->req ? msg->scode : 0,
		.reason = reason,
	};
	enum sip_subscription_event event =
		s->state == SUBSCRIPTION_ASKING && !s->renewals
			? SIP_SUBSCRIBE_FAIL
			: SIP_UNSUBSCRIBED;

	if (s->state == SUBSCRIPTION_OVER)
		return;
	s->state = SUBSCRIPTION_OVER;
	s->granted_s = 0;
	mono_timer_cancel(&s->tmr);
	mono_timer_cancel(&s->tmr_end);
	hash_unlink(&s->d.he);
	s->d.req = mem_deref(s->d.req);
	subscription_tell(s, event, &info);
}

static void subscription_end(void *arg)
{
	struct sip_subscription *s = arg;
	char reason[REASON_BYTES];

	if (s->state == SUBSCRIPTION_ACTIVE && s->d.req) {
		s->expired = true;
		return;
	}
	mem_ref(s);
	if (s->state == SUBSCRIPTION_ASKING)
		str_print(reason, sizeof(reason), "no NOTIFY within %u s",
			  NOTIFY_WAIT_MS / 1000);
	else if (s->state == SUBSCRIPTION_LEAVING)
		str_print(reason, sizeof(reason), "%s",
			  s->reason[0] ? s->reason
				       : "no NOTIFY said that it ended");
	else
		str_print(reason, sizeof(reason), "it expired%s%s",
			  s->reason[0] ? ", the refresh: " : "", s->reason);
	subscription_over(s, NULL, reason);
	mem_deref(s);
}

/* SUBSCRIBE could not be sent: an active subscription lasts until it
 * expires. */
static void unsent(struct sip_subscription *s, int err)
{
	originator_failure(s->reason, sizeof(s->reason), s->d.origin, -err);
	if (s->state != SUBSCRIPTION_ACTIVE)
		subscription_over(s, NULL, s->reason);
}

static void refresh_handler(void *arg)
{
	struct sip_subscription *s = arg;
	int err;

	mem_ref(s);
	s->renewals = 0;
	s->d.challenges = 0;
	err = subscription_ask(s, s->asked_s);
	if (err)
		unsent(s, err);
	mem_deref(s);
}

static void subscription_granted(struct sip_subscription *s, uint32_t expires_s)
{
	uint64_t ms = (uint64_t)expires_s * 1000;

	s->granted_s = expires_s;
	s->expired = false;
	mono_timer_start(&s->tmr_end, ms, subscription_end, s);
	mono_timer_start(&s->tmr, ms * REFRESH_PERCENT / 100, refresh_handler,
			 s);
}

static int begin(struct sip_subscription *s)
{
	struct dialog *dialog;
	int err = dialog_new(&dialog, s->d.origin, s->uri, s->uri);

	if (err)
		return err;
	err = event_dialog_init(&s->d, s->d.user, dialog);
	if (err) {
		mem_deref(dialog);
		return err;
	}
	s->state = SUBSCRIPTION_ASKING;
	s->raised = false;
	s->reason[0] = '\0';
	s->d.challenges = 0;
	return subscription_ask(s, s->asked_s);
}

static void begin_handler(void *arg)
{
	struct sip_subscription *s = arg;
	int err;

	mem_ref(s);
	err = begin(s);
	if (err)
		unsent(s, err);
	mem_deref(s);
}

/* The notifier ended the subscription; its reason says whether to subscribe
 * again (RFC 6665 4.1.3). */
static void terminated(struct sip_subscription *s, const struct sip_msg *msg,
		       const struct notify *n)
{
	bool at_once = strcasecmp(n->reason, "deactivated") == 0 ||
		       strcasecmp(n->reason, "timeout") == 0;
	bool later = strcasecmp(n->reason, "probation") == 0 ||
		     strcasecmp(n->reason, "giveup") == 0;
	char reason[REASON_BYTES];

	str_print(reason, sizeof(reason), "terminated%s%s",
		  n->reason[0] ? ", " : "", n->reason);
	if (s->state == SUBSCRIPTION_LEAVING || s->asked_s == 0 ||
	    s->renewals >= RENEWALS_MAX ||
	    !(at_once || (later && n->retry_after_s <= RETRY_AFTER_MAX_S))) {
		/* the subscription existed: report its end, not a refusal */
		if (s->state == SUBSCRIPTION_ASKING)
			s->state = SUBSCRIPTION_ACTIVE;
		subscription_over(s, msg, reason);
		return;
	}
	s->renewals++;
	s->d.req = mem_deref(s->d.req);
	s->state = SUBSCRIPTION_PAUSED;
	s->granted_s = 0;
	mono_timer_cancel(&s->tmr_end);
	mono_timer_start(&s->tmr,
			 at_once ? 0 : (uint64_t)n->retry_after_s * 1000,
			 begin_handler, s);
}

static void notified(struct sip_subscription *s, const struct sip_msg *msg,
		     const struct notify *n)
{
	struct sip_subscription_info info = {
		.mono_ns = originator_received_ns(s->d.origin),
		.reason = n->reason,
		.state = n->state,
	};

	if (n->has_body && s->d.package == SIP_PACKAGE_PRESENCE)
		info.presence = &n->presence;
	else if (n->has_body)
		info.mwi = &n->mwi;
	if (!n->terminated && s->state != SUBSCRIPTION_LEAVING) {
		bool first = s->state == SUBSCRIPTION_ASKING;

		s->state = SUBSCRIPTION_ACTIVE;
		if (n->has_expires)
			subscription_granted(s, n->expires_s);
		else if (first)
			subscription_granted(s, s->granted_s ? s->granted_s
							     : s->asked_s);
	}
	subscription_tell(s, SIP_NOTIFIED, &info);
	if (n->terminated && s->handler)
		terminated(s, msg, n);
	else if (s->asked_s == 0 && s->handler)
		subscription_over(s, msg, "fetched");
}

void subscription_notified(struct event_dialog *d, const struct sip_msg *msg)
{
	struct sip_subscription *s = (struct sip_subscription *)d;
	struct transaction_layer *layer = originator_layer(d->origin);
	struct notify n = {.state = ""};

	/* the NOTIFY of another branch, or one after the end */
	if (s->state == SUBSCRIPTION_OVER || s->state == SUBSCRIPTION_PAUSED ||
	    (dialog_remote_tag(d->dialog) && !dialog_match(d->dialog, msg))) {
		(void)server_transaction_reply(NULL, layer, msg, 481,
					       "Subscription Does Not Exist");
		return;
	}
	if (dialog_remote_tag(d->dialog) && !dialog_in_order(d->dialog, msg)) {
		(void)server_transaction_reply(NULL, layer, msg, 500,
					       "Server Internal Error");
		return;
	}
	if (!notify_read(&n, layer, d->package, msg))
		return;
	/* the NOTIFY makes the dialog, not the 2xx (RFC 6665 4.4.1) */
	if (!dialog_remote_tag(d->dialog) && dialog_establish(d->dialog, msg)) {
		(void)server_transaction_reply(NULL, layer, msg, 400,
					       "Bad Contact");
		return;
	}
	(void)dialog_in_order(d->dialog, msg);
	dialog_refresh(d->dialog, msg);
	(void)server_transaction_reply(NULL, layer, msg, 200, "OK");
	mem_ref(s);
	notified(s, msg, &n);
	mem_deref(s);
}

/* ---- interface ---- */

int subscription_new(struct sip_subscription **ret, struct event_user *user,
		     const struct sip_subscribe_params *params)
{
	struct sip_subscription *s;
	int err;

	if (params->expires_s > SUBSCRIBE_EXPIRES_MAX_S ||
	    (unsigned)params->package >= SIP_PACKAGES)
		return -EINVAL;
	s = mem_zalloc(sizeof(*s), destructor);
	if (!s)
		return -ENOMEM;
	s->d.package = params->package;
	s->d.user = user;
	s->d.origin = originator_ref(user->origin);
	s->asked_s = params->expires_s;
	s->handler = params->handler;
	s->arg = params->arg;
	err = params->uri && params->uri[0]
		      ? peer_uri(&s->uri, user->origin, params->uri)
		      : text_print(&s->uri, "%s", originator_aor(user->origin));
	if (!err)
		err = begin(s);
	if (err) {
		mem_deref(s);
		return err;
	}
	*ret = s;
	return 0;
}

void sip_unsubscribe(struct sip_subscription *s)
{
	uint64_t wait_ms = DIALOG_END_WAIT_MS;

	if (s->state == SUBSCRIPTION_OVER || s->state == SUBSCRIPTION_LEAVING)
		return;
	mono_timer_cancel(&s->tmr);
	s->reason[0] = '\0';
	s->d.challenges = 0;
	/* without an active subscription no SUBSCRIBE is sent */
	if (s->state != SUBSCRIPTION_ACTIVE || subscription_ask(s, 0)) {
		s->d.req = mem_deref(s->d.req);
		str_print(s->reason, sizeof(s->reason),
			  "there was no subscription to end");
		wait_ms = 0;
	}
	s->state = SUBSCRIPTION_LEAVING;
	mono_timer_start(&s->tmr_end, wait_ms, subscription_end, s);
}

struct sip_subscription *sip_subscription_free(struct sip_subscription *s)
{
	if (!s)
		return NULL;
	s->handler = NULL;
	s->state = SUBSCRIPTION_OVER;
	mono_timer_cancel(&s->tmr);
	mono_timer_cancel(&s->tmr_end);
	hash_unlink(&s->d.he);
	s->d.req = mem_deref(s->d.req);
	return mem_deref(s);
}

/* ---- SUBSCRIBE and the responses to it ---- */

static void first_answered(struct sip_subscription *s,
			   const struct sip_msg *msg)
{
	struct sip_subscription_info info = {
		.mono_ns = originator_received_ns(s->d.origin),
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
	/* a NOTIFY that overtook this 2xx has set the timers */
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
	/* LEAVING: the last NOTIFY comes, or subscription_end() after 5 s */
}

/* @return 0: SUBSCRIBE was sent again; -errno with the reason in s->reason */
static int again(struct sip_subscription *s, const struct sip_msg *msg)
{
	uint32_t least;
	int err;

	msg_line(s->reason, sizeof(s->reason), msg);
	if (digest_asked(msg)) {
		err = digest_challenge(s->d.digest, &s->d.challenges, msg);
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
		originator_failure(s->reason, sizeof(s->reason), s->d.origin,
				   err);
	else if (again(s, msg) == 0)
		return;
	/* A failed refresh: the subscription lasts until it expires, unless
	 * the notifier answered 481 (RFC 6665 4.1.2.2). */
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

static int subscription_ask(struct sip_subscription *s, uint32_t expires_s)
{
	char lines[192];
	const struct dialog_request_params request = {
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
