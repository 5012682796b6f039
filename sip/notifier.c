#include "sip/notifier.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/account_internal.h"
#include "sip/contact.h"
#include "sip/dialog.h"
#include "sip/digest.h"
#include "sip/error.h"
#include "sip/event_dialog.h"
#include "sip/events.h"
#include "sip/message.h"
#include "sip/server.h"
#include "sip/text.h"
#include "sip/ua_internal.h"

/* RFC 3856 6.4, RFC 3842 3.4; longer ones are cut to a day. */
#define EXPIRES_DEFAULT_S 3600
#define EXPIRES_MAX_S     86400

#define REASON_TIMEOUT "timeout"
#define REASON_GONE    "noresource"

/* What an account tells its watchers. */
struct served {
	bool has[SIP_PACKAGES];
	struct sip_presence presence;
	struct sip_mwi mwi;
	struct list watchers;
	sip_watcher_h *handler;
	void *arg;
};

struct watcher {
	struct event_dialog d;
	struct le le;       /* in served->watchers */
	char *id;           /* of the Event header, or NULL */
	char *uri;          /* who it is */
	int64_t end_ns;     /* when it expires */
	bool again;         /* what it was told is not the latest */
	const char *ending; /* static: reason of the last NOTIFY, or NULL */
	bool told_end;      /* that one went out */
	struct tmr tmr;
};

static int notify(struct watcher *w);
static void notify_soon(struct watcher *w);

static void served_destructor(void *arg)
{
	struct served *served = arg;

	list_clear(&served->watchers);
}

static void watcher_destructor(void *arg)
{
	struct watcher *w = arg;

	list_unlink(&w->le);
	tmr_cancel(&w->tmr);
	event_dialog_release(&w->d);
	mem_deref(w->id);
	mem_deref(w->uri);
}

/* ---- what is heard of it ---- */

static void tell(struct watcher *w, enum sip_watcher_event event,
		 const struct sip_msg *msg, const char *reason)
{
	struct sip_account *account = w->d.account;
	const struct served *served = account->served;
	struct sip_watcher_info info = {
		.mono_ns = msg ? account->ua->received_ns : clock_mono_ns(),
		.package = w->d.package,
		.uri = w->uri,
		.code = msg && !msg->req ? msg->scode : 0,
		.reason = reason,
	};
	struct le *le;

	if (!served || !served->handler || !w->le.list)
		return;
	LIST_FOREACH(&served->watchers, le)
	{
		const struct watcher *other = le->data;

		info.watchers += other->d.package == w->d.package;
	}
	if (event == SIP_WATCHER_GONE)
		info.watchers--;
	served->handler(account, event, &info, served->arg);
}

/* The last one: its memory goes, whatever is under way. */
static void gone(struct watcher *w, const struct sip_msg *msg,
		 const char *reason)
{
	w->d.req = mem_deref(w->d.req);
	w->again = false;
	tell(w, SIP_WATCHER_GONE, msg, reason);
	mem_deref(w);
}

/* ---- NOTIFY ---- */

static int sent_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct watcher *w = arg;
	(void)dst;

	return contact_write(mb, w->d.account, src, tp);
}

static void settled(struct watcher *w, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];

	msg_line(reason, sizeof(reason), msg);
	if (w->told_end) {
		gone(w, msg, w->ending);
		return;
	}
	tell(w, SIP_WATCHER_NOTIFIED, msg, reason);
	if (w->again)
		notify_soon(w);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct watcher *w = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200)
		return;
	if (!err && (msg->scode == 401 || msg->scode == 407) &&
	    digest_challenge(w->d.digest, msg) == 0 && notify(w) == 0)
		return;
	mem_ref(w);
	if (!err && msg->scode < 300) {
		settled(w, msg);
	} else {
		/* RFC 6665 4.2.2: whoever does not take it is no subscriber. */
		if (err)
			failure_at(reason, sizeof(reason), w->d.account, w->uri,
				   err);
		else
			msg_line(reason, sizeof(reason), msg);
		gone(w, err ? NULL : msg, reason);
	}
	mem_deref(w);
}

/* @return 1: there is none any more */
static int body_print(char *dst, size_t size, const struct watcher *w)
{
	const struct sip_account *account = w->d.account;
	const struct served *served = account->served;
	int n;

	if (!served)
		return 1;
	n = event_body(dst, size, w->d.package, &served->presence, &served->mwi,
		       account->aor);
	return n < 0 ? n : 0;
}

/* One at a time (RFC 6665 4.2.2): the next one says what came meanwhile. */
static int notify(struct watcher *w)
{
	char lines[192], body[EVENT_BODY_BYTES];
	struct request request = {
		.method = "NOTIFY",
		.headers = lines,
		.sendh = sent_handler,
		.resph = response_handler,
		.arg = w,
	};
	int64_t left_ns = w->end_ns - clock_mono_ns();
	int r = body_print(body, sizeof(body), w);
	char state[64];

	w->again = false;
	w->told_end = w->ending != NULL;
	if (r < 0)
		return r;
	if (r == 0) {
		request.type = event_type(w->d.package);
		request.body = body;
	}
	if (w->ending)
		str_print(state, sizeof(state), "terminated;reason=%s",
			  w->ending);
	else
		str_print(state, sizeof(state), "active;expires=%u",
			  left_ns > 0 ? (uint32_t)(left_ns / NS_PER_S) : 0);
	str_print(lines, sizeof(lines),
		  "Event: %s%s%s\r\nSubscription-State: %s\r\n",
		  sip_package_name(w->d.package), w->id ? ";id=" : "",
		  w->id ? w->id : "", state);
	return event_dialog_send(&w->d, &request);
}

static void unsent_handler(void *arg)
{
	gone(arg, NULL, "NOTIFY could not be sent");
}

/* Tell it how things are, now or when it has answered. */
static void notify_soon(struct watcher *w)
{
	w->again = true;
	if (w->d.req)
		return;
	digest_begin(w->d.digest);
	if (notify(w))
		tmr_start(&w->tmr, 0, unsent_handler, w);
}

static void expired_handler(void *arg)
{
	struct watcher *w = arg;

	w->ending = REASON_TIMEOUT;
	notify_soon(w);
}

/* ---- SUBSCRIBE ---- */

static uint32_t expires_of(const struct sip_msg *msg)
{
	uint32_t s = event_seconds(msg, SIP_HDR_EXPIRES, EXPIRES_DEFAULT_S);

	return s < EXPIRES_MAX_S ? s : EXPIRES_MAX_S;
}

/* 200, then how things are (RFC 6665 4.2.1.2). */
static void accept_for(struct watcher *w, const struct sip_msg *msg)
{
	struct sip_account *account = w->d.account;
	uint32_t expires_s = expires_of(msg);
	struct contact contact;

	w->end_ns = clock_mono_ns() + (int64_t)expires_s * NS_PER_S;
	tmr_cancel(&w->tmr);
	if (expires_s)
		tmr_start(&w->tmr, (uint64_t)expires_s * 1000, expired_handler,
			  w);
	else
		w->ending = REASON_TIMEOUT;
	contact_answer(&contact, account, msg);
	(void)server_replyf(NULL, NULL, account->ua->sip, msg, true, 200, "OK",
			    "%HExpires: %u\r\nContent-Length: 0\r\n\r\n",
			    contact_print, &contact, expires_s);
}

static bool accepts(const struct sip_msg *msg, enum sip_package package)
{
	return !sip_msg_hdr(msg, SIP_HDR_ACCEPT) ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT,
				     event_type(package)) ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT, "application/*") ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT, "*/*");
}

static void bad_event(const struct sip_account *account,
		      const struct sip_msg *msg)
{
	const struct served *served = account->served;
	bool both = served->has[0] && served->has[1];

	(void)server_replyf(
		NULL, NULL, account->ua->sip, msg, false, 489, "Bad Event",
		"Allow-Events: %s%s%s\r\nContent-Length: 0\r\n\r\n",
		served->has[0] ? sip_package_name(0) : "", both ? ", " : "",
		served->has[1] ? sip_package_name(1) : "");
}

static int watcher_new(struct watcher **ret, struct sip_account *account,
		       const struct sip_msg *msg, const struct pl *id)
{
	struct watcher *w = mem_zalloc(sizeof(*w), watcher_destructor);
	int err;

	if (!w)
		return -ENOMEM;
	w->d.notifier = true;
	err = neg(pl_strdup(&w->uri, &msg->from.auri));
	if (!err && pl_isset(id))
		err = neg(pl_strdup(&w->id, id));
	if (!err)
		err = event_dialog_accept(&w->d, account, msg);
	if (err) {
		mem_deref(w);
		return err;
	}
	*ret = w;
	return 0;
}

void notifier_subscribed(struct sip_account *account, const struct sip_msg *msg)
{
	struct served *served = account->served;
	struct sip_ua *ua = account->ua;
	enum sip_package package;
	struct watcher *w;
	struct pl id;
	int err;

	if (event_read(&package, &id, msg) || !served->has[package]) {
		bad_event(account, msg);
		return;
	}
	if (!accepts(msg, package)) {
		(void)server_reply(NULL, ua->sip, msg, 406, "Not Acceptable");
		return;
	}
	if (list_count(&served->watchers) >= SIP_WATCHERS_MAX || id.l > 64) {
		(void)server_reply(NULL, ua->sip, msg, 503,
				   "Service Unavailable");
		return;
	}
	err = watcher_new(&w, account, msg, &id);
	if (err) {
		(void)server_reply(NULL, ua->sip, msg,
				   err == -ENOMEM ? 500 : 400,
				   err == -ENOMEM ? "Server Internal Error"
						  : "Bad Request");
		return;
	}
	w->d.package = package;
	list_append(&served->watchers, &w->le, w);
	accept_for(w, msg);
	mem_ref(w);
	tell(w, SIP_WATCHER_NEW, msg, "");
	if (w->le.list)
		notify_soon(w);
	mem_deref(w);
}

void watcher_refreshed(struct event_dialog *d, const struct sip_msg *msg)
{
	struct watcher *w = (struct watcher *)d;
	struct sip_ua *ua = d->account->ua;
	enum sip_package package;
	struct pl id;

	if (!dialog_match(d->dialog, msg) || w->ending) {
		(void)server_reply(NULL, ua->sip, msg, 481,
				   "Subscription Does Not Exist");
		return;
	}
	if (!dialog_in_order(d->dialog, msg)) {
		(void)server_reply(NULL, ua->sip, msg, 500,
				   "Server Internal Error");
		return;
	}
	if (event_read(&package, &id, msg) || package != d->package) {
		bad_event(d->account, msg);
		return;
	}
	dialog_refresh(d->dialog, msg);
	accept_for(w, msg);
	notify_soon(w);
}

/* ---- interface ---- */

int sip_account_serve(struct sip_account *account,
		      const struct sip_event_state *state,
		      sip_watcher_h *handler, void *arg)
{
	struct served *served;
	struct le *le;

	if (!account_is_native(account))
		return -EOPNOTSUPP;
	served = account->served;
	if (!served) {
		served = mem_zalloc(sizeof(*served), served_destructor);
		if (!served)
			return -ENOMEM;
		account->served = served;
	}
	served->handler = handler;
	served->arg = arg;
	if (state->presence) {
		served->has[SIP_PACKAGE_PRESENCE] = true;
		served->presence = *state->presence;
	}
	if (state->mwi) {
		served->has[SIP_PACKAGE_MWI] = true;
		served->mwi = *state->mwi;
	}
	le = list_head(&served->watchers);
	while (le) {
		struct watcher *w = le->data;
		bool news = w->d.package == SIP_PACKAGE_PRESENCE
				    ? state->presence != NULL
				    : state->mwi != NULL;

		le = le->next;
		if (news && !w->ending)
			notify_soon(w);
	}
	return 0;
}

unsigned sip_account_notifies(const struct sip_account *account)
{
	unsigned count = 0;
	struct le *le;

	if (!account_is_native(account) || !account->served)
		return 0;
	LIST_FOREACH(&account->served->watchers, le)
	{
		const struct watcher *w = le->data;

		count += w->d.req != NULL || w->again;
	}
	return count;
}

void sip_account_serve_end(struct sip_account *account)
{
	struct served *served;
	struct watcher *w;

	if (!account_is_native(account) || !account->served)
		return;
	served = account->served;
	account->served = NULL;
	while ((w = list_ledata(list_head(&served->watchers)))) {
		list_unlink(&w->le);
		tmr_cancel(&w->tmr);
		w->ending = REASON_GONE;
		w->d.req = mem_deref(w->d.req);
		digest_begin(w->d.digest);
		/* The answer, or none, releases it. */
		if (notify(w))
			mem_deref(w);
	}
	mem_deref(served);
}
