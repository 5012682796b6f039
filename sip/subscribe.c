#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/event_dialog.h"

#define REFRESH_PERCENT 90 /* of what was granted */

/* The first NOTIFY is due within 64*T1 (RFC 6665 4.1.2.4, timer N). */
#define NOTIFY_WAIT_MS (64 * SIP_T1)

/* New subscriptions after the notifier ended one; a wait that is obeyed. */
#define RENEWALS_MAX      5
#define RETRY_AFTER_MAX_S 120

/* A longer one is refreshed after a day like any other. */
#define EXPIRES_MAX_S 86400

enum subscription_state {
	SUBSCRIPTION_ASKING, /* no NOTIFY yet */
	SUBSCRIPTION_PAUSED, /* it begins again when the notifier wants it */
	SUBSCRIPTION_ACTIVE,
	SUBSCRIPTION_LEAVING,
	SUBSCRIPTION_OVER,
};

struct sip_subscription {
	struct event_dialog d;
	char *uri;
	enum subscription_state state;
	uint32_t asked_s;   /* of the whole */
	uint32_t sending_s; /* of the request under way */
	uint32_t granted_s;
	bool raised;   /* by a 423 */
	bool answered; /* SIP_SUBSCRIBED was told */
	bool expired;  /* under a refresh: its answer decides */
	unsigned renewals;
	struct tmr tmr;     /* refresh */
	struct tmr tmr_end; /* no NOTIFY, no refresh, no end */
	char reason[REASON_BYTES];
	sip_subscription_h *handler;
	void *arg;
};

static int ask(struct sip_subscription *s, uint32_t expires_s);

static void destructor(void *arg)
{
	struct sip_subscription *s = arg;

	tmr_cancel(&s->tmr);
	tmr_cancel(&s->tmr_end);
	event_dialog_release(&s->d);
	mem_deref(s->uri);
}

static void tell(struct sip_subscription *s, enum sip_subscription_event event,
		 struct sip_subscription_info *info)
{
	info->expires_s = s->granted_s;
	if (!info->reason)
		info->reason = "";
	if (s->handler)
		s->handler(s, event, info, s->arg);
}

/* The last event. */
static void over(struct sip_subscription *s, const struct sip_msg *msg,
		 const char *reason)
{
	struct sip_subscription_info info = {
		.mono_ns =
			msg ? s->d.account->ua->received_ns : clock_mono_ns(),
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
	tmr_cancel(&s->tmr);
	tmr_cancel(&s->tmr_end);
	hash_unlink(&s->d.he);
	s->d.req = mem_deref(s->d.req);
	tell(s, event, &info);
}

static void end_handler(void *arg)
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
	over(s, NULL, reason);
	mem_deref(s);
}

/* It could not be sent: there is nothing to wait for but the end. */
static void unsent(struct sip_subscription *s, int err)
{
	failure_reason(s->reason, sizeof(s->reason), s->d.account, -err);
	if (s->state != SUBSCRIPTION_ACTIVE)
		over(s, NULL, s->reason);
}

static void refresh_handler(void *arg)
{
	struct sip_subscription *s = arg;
	int err;

	mem_ref(s);
	s->renewals = 0;
	digest_begin(s->d.digest);
	err = ask(s, s->asked_s);
	if (err)
		unsent(s, err);
	mem_deref(s);
}

/* So long the notifier says it lasts. */
static void granted(struct sip_subscription *s, uint32_t expires_s)
{
	uint64_t ms = (uint64_t)expires_s * 1000;

	s->granted_s = expires_s;
	s->expired = false;
	tmr_start(&s->tmr_end, ms, end_handler, s);
	tmr_start(&s->tmr, ms * REFRESH_PERCENT / 100, refresh_handler, s);
}

static int begin(struct sip_subscription *s)
{
	struct dialog *dialog;
	int err = dialog_new(&dialog, s->d.account, s->uri, s->uri);

	if (err)
		return err;
	err = event_dialog_init(&s->d, s->d.account, dialog);
	if (err) {
		mem_deref(dialog);
		return err;
	}
	s->state = SUBSCRIPTION_ASKING;
	s->raised = false;
	s->reason[0] = '\0';
	digest_begin(s->d.digest);
	return ask(s, s->asked_s);
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

/* ---- answers to SUBSCRIBE ---- */

static void first_answered(struct sip_subscription *s,
			   const struct sip_msg *msg)
{
	struct sip_subscription_info info = {
		.mono_ns = s->d.account->ua->received_ns,
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
		tell(s, SIP_SUBSCRIBED, &info);
		s->reason[0] = '\0';
	}
	/* A NOTIFY that overtook it said how long, too. */
	if (s->state == SUBSCRIPTION_ASKING)
		tmr_start(&s->tmr_end, NOTIFY_WAIT_MS, end_handler, s);
}

static void answered(struct sip_subscription *s, const struct sip_msg *msg)
{
	uint32_t expires_s = event_seconds(msg, SIP_HDR_EXPIRES, s->sending_s);

	if (s->state == SUBSCRIPTION_ASKING || !s->answered)
		first_answered(s, msg);
	else if (s->state == SUBSCRIPTION_ACTIVE)
		granted(s, expires_s < s->sending_s ? expires_s : s->sending_s);
	/* LEAVING: the NOTIFY that says so comes, or 5 s are over. */
}

/* @return 0: it was asked again; else the reason stands in s->reason */
static int again(struct sip_subscription *s, const struct sip_msg *msg)
{
	uint32_t least;
	int err;

	msg_line(s->reason, sizeof(s->reason), msg);
	if (msg->scode == 401 || msg->scode == 407) {
		err = digest_challenge(s->d.digest, msg);
		if (err)
			digest_reason(s->reason, sizeof(s->reason), err, msg);
		return err ? err : ask(s, s->sending_s);
	}
	least = event_seconds(msg, SIP_HDR_MIN_EXPIRES, 0);
	if (msg->scode != 423 || s->raised || least <= s->sending_s ||
	    least > EXPIRES_MAX_S || s->sending_s == 0)
		return -EACCES;
	s->raised = true;
	s->asked_s = least;
	return ask(s, least);
}

static void refused(struct sip_subscription *s, int err,
		    const struct sip_msg *msg)
{
	if (err)
		failure_reason(s->reason, sizeof(s->reason), s->d.account, err);
	else if (again(s, msg) == 0)
		return;
	/* A refresh that failed: the subscription lasts on as long as it was
	 * granted, unless the notifier does not know it (RFC 6665 4.1.2.2). */
	if (s->state == SUBSCRIPTION_ACTIVE && (err || msg->scode != 481)) {
		if (s->expired)
			end_handler(s);
		return;
	}
	over(s, msg, s->reason);
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
	struct contact contact;
	(void)dst;

	contact_set(&contact, s->d.account, src, tp);
	return mbuf_printf(mb, "%H", contact_print, &contact);
}

static int ask(struct sip_subscription *s, uint32_t expires_s)
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

/* ---- NOTIFY ---- */

struct notify {
	char state[32];
	char reason[64];
	bool terminated;
	bool has_expires;
	uint32_t expires_s;
	uint32_t retry_after_s;
	struct sip_presence presence;
	struct sip_mwi mwi;
	bool has_body;
};

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

	if (!hdr || re_regex(hdr->val.p, hdr->val.l, "[^; \t]+", &pl))
		return -EBADMSG;
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

/* @return 0; else the status that refuses it */
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

/* @return false: it was refused */
static bool notify_read(struct notify *n, struct sip_subscription *s,
			const struct sip_msg *msg)
{
	struct sip_ua *ua = s->d.account->ua;
	enum sip_package package;
	struct pl id;
	uint16_t code;
	int err = event_read(&package, &id, msg);

	if (err || package != s->d.package || pl_isset(&id)) {
		(void)server_reply(NULL, ua->sip, msg, 489, "Bad Event");
		return false;
	}
	if (state_read(n, msg)) {
		(void)server_reply(NULL, ua->sip, msg, 400,
				   "Bad Subscription-State");
		return false;
	}
	code = body_read(n, package, msg);
	if (code == 415)
		(void)server_replyf(NULL, NULL, ua->sip, msg, false, code,
				    "Unsupported Media Type",
				    "Accept: %s\r\nContent-Length: 0\r\n\r\n",
				    event_type(package));
	else if (code)
		(void)server_reply(NULL, ua->sip, msg, code, "Bad Body");
	return code == 0;
}

/* The notifier ended it: does it want another one (RFC 6665 4.1.3)? */
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
		/* It was there: this is its end, no refusal. */
		if (s->state == SUBSCRIPTION_ASKING)
			s->state = SUBSCRIPTION_ACTIVE;
		over(s, msg, reason);
		return;
	}
	s->renewals++;
	s->d.req = mem_deref(s->d.req);
	s->state = SUBSCRIPTION_PAUSED;
	s->granted_s = 0;
	tmr_cancel(&s->tmr_end);
	tmr_start(&s->tmr, at_once ? 0 : (uint64_t)n->retry_after_s * 1000,
		  begin_handler, s);
}

static void notified(struct sip_subscription *s, const struct sip_msg *msg,
		     const struct notify *n)
{
	struct sip_subscription_info info = {
		.mono_ns = s->d.account->ua->received_ns,
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
			granted(s, n->expires_s);
		else if (first)
			granted(s, s->granted_s ? s->granted_s : s->asked_s);
	}
	tell(s, SIP_NOTIFIED, &info);
	if (n->terminated && s->handler)
		terminated(s, msg, n);
	else if (s->asked_s == 0 && s->handler)
		over(s, msg, "fetched");
}

void subscription_notified(struct event_dialog *d, const struct sip_msg *msg)
{
	struct sip_subscription *s = (struct sip_subscription *)d;
	struct sip_ua *ua = d->account->ua;
	struct notify n = {.state = ""};

	/* Another branch's notifier, or one that comes too late. */
	if (s->state == SUBSCRIPTION_OVER || s->state == SUBSCRIPTION_PAUSED ||
	    (d->dialog->rtag && !dialog_match(d->dialog, msg))) {
		(void)server_reply(NULL, ua->sip, msg, 481,
				   "Subscription Does Not Exist");
		return;
	}
	if (d->dialog->rtag && !dialog_in_order(d->dialog, msg)) {
		(void)server_reply(NULL, ua->sip, msg, 500,
				   "Server Internal Error");
		return;
	}
	if (!notify_read(&n, s, msg))
		return;
	/* It makes the dialog, not the 2xx (RFC 6665 4.4.1). */
	if (!d->dialog->rtag && dialog_establish(d->dialog, msg)) {
		(void)server_reply(NULL, ua->sip, msg, 400, "Bad Contact");
		return;
	}
	(void)dialog_in_order(d->dialog, msg);
	dialog_refresh(d->dialog, msg);
	(void)server_reply(NULL, ua->sip, msg, 200, "OK");
	mem_ref(s);
	notified(s, msg, &n);
	mem_deref(s);
}

/* ---- interface ---- */

int sip_subscribe(struct sip_subscription **ret, struct sip_account *account,
		  const struct sip_subscribe_params *params)
{
	struct sip_subscription *s;
	int err;

	if (!account_is_native(account))
		return -EOPNOTSUPP;
	if (params->expires_s > EXPIRES_MAX_S ||
	    (unsigned)params->package >= SIP_PACKAGES)
		return -EINVAL;
	s = mem_zalloc(sizeof(*s), destructor);
	if (!s)
		return -ENOMEM;
	s->d.package = params->package;
	s->d.account = mem_ref(account);
	s->asked_s = params->expires_s;
	s->handler = params->handler;
	s->arg = params->arg;
	err = params->uri && params->uri[0]
		      ? peer_uri(&s->uri, account, params->uri)
		      : text_print(&s->uri, "%s", account->aor);
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
	uint64_t wait_ms = END_WAIT_MS;

	if (s->state == SUBSCRIPTION_OVER || s->state == SUBSCRIPTION_LEAVING)
		return;
	tmr_cancel(&s->tmr);
	s->reason[0] = '\0';
	digest_begin(s->d.digest);
	/* Without a dialog there is nothing to end with. */
	if (s->state != SUBSCRIPTION_ACTIVE || ask(s, 0)) {
		s->d.req = mem_deref(s->d.req);
		str_print(s->reason, sizeof(s->reason),
			  "there was no subscription to end");
		wait_ms = 0;
	}
	s->state = SUBSCRIPTION_LEAVING;
	tmr_start(&s->tmr_end, wait_ms, end_handler, s);
}

struct sip_subscription *sip_subscription_free(struct sip_subscription *s)
{
	if (!s)
		return NULL;
	s->handler = NULL;
	s->state = SUBSCRIPTION_OVER;
	tmr_cancel(&s->tmr);
	tmr_cancel(&s->tmr_end);
	hash_unlink(&s->d.he);
	s->d.req = mem_deref(s->d.req);
	return mem_deref(s);
}
