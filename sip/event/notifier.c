#include "sip/event/notifier.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/event/event_dialog.h"
#include "sip/event/event_user.h"
#include "sip/event/watcher.h"
#include "sip/message/digest.h"
#include "sip/transaction/server_transaction.h"

/* RFC 3856 6.4, RFC 3842 3.4; longer subscriptions are cut to a day. */
#define EXPIRES_DEFAULT_S 3600
#define EXPIRES_MAX_S     86400

static void served_destructor(void *arg)
{
	struct served *served = arg;

	list_clear(&served->watchers);
}

/* ---- SUBSCRIBE ---- */

static uint32_t expires_of(const struct sip_msg *msg)
{
	uint32_t s = event_seconds(msg, SIP_HDR_EXPIRES, EXPIRES_DEFAULT_S);

	return s < EXPIRES_MAX_S ? s : EXPIRES_MAX_S;
}

/* Accept a SUBSCRIBE with 200; a NOTIFY with the state follows (RFC 6665
 * 4.2.1.2). */
static void accept_for(struct watcher *w, const struct sip_msg *msg)
{
	uint32_t expires_s = expires_of(msg);
	struct contact_params contact;

	w->end_ns = clock_mono_ns() + (int64_t)expires_s * NS_PER_S;
	mono_timer_cancel(&w->tmr);
	if (expires_s)
		mono_timer_start(&w->tmr, (uint64_t)expires_s * 1000,
				 watcher_expired, w);
	else
		w->ending = WATCHER_END_TIMEOUT;
	contact_answer(&contact, w->d.origin, msg);
	(void)server_transaction_replyf(
		NULL, NULL, originator_layer(w->d.origin), msg, true, 200, "OK",
		"%HExpires: %u\r\nContent-Length: 0\r\n\r\n", contact_print,
		&contact, expires_s);
}

static bool accepts(const struct sip_msg *msg, enum sip_package package)
{
	return !sip_msg_hdr(msg, SIP_HDR_ACCEPT) ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT,
				     event_type(package)) ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT, "application/*") ||
	       sip_msg_hdr_has_value(msg, SIP_HDR_ACCEPT, "*/*");
}

static void bad_event(const struct event_user *user, const struct sip_msg *msg)
{
	const struct served *served = user->served;
	bool both = served->has[0] && served->has[1];

	(void)server_transaction_replyf(
		NULL, NULL, originator_layer(user->origin), msg, false, 489,
		"Bad Event",
		"Allow-Events: %s%s%s\r\nContent-Length: 0\r\n\r\n",
		served->has[0] ? sip_package_name(0) : "", both ? ", " : "",
		served->has[1] ? sip_package_name(1) : "");
}

void notifier_subscribed(struct event_user *user, const struct sip_msg *msg)
{
	struct transaction_layer *layer = originator_layer(user->origin);
	struct served *served = user->served;
	enum sip_package package;
	struct watcher *w;
	struct pl id;
	int err;

	if (event_read(&package, &id, msg) || !served->has[package]) {
		bad_event(user, msg);
		return;
	}
	if (!accepts(msg, package)) {
		(void)server_transaction_reply(NULL, layer, msg, 406,
					       "Not Acceptable");
		return;
	}
	if (list_count(&served->watchers) >= SIP_WATCHERS_MAX || id.l > 64) {
		(void)server_transaction_reply(NULL, layer, msg, 503,
					       "Service Unavailable");
		return;
	}
	err = watcher_new(&w, user, msg, &id);
	if (err) {
		(void)server_transaction_reply(
			NULL, layer, msg, err == -ENOMEM ? 500 : 400,
			err == -ENOMEM ? "Server Internal Error"
				       : "Bad Request");
		return;
	}
	w->d.package = package;
	list_append(&served->watchers, &w->le, w);
	accept_for(w, msg);
	mem_ref(w);
	watcher_tell(w, SIP_WATCHER_NEW, msg, "");
	if (w->le.list)
		watcher_notify_soon(w);
	mem_deref(w);
}

void watcher_refreshed(struct event_dialog *d, const struct sip_msg *msg)
{
	struct watcher *w = (struct watcher *)d;
	enum sip_package package;
	struct pl id;

	if (!event_dialog_refreshed(d, msg, w->ending != NULL))
		return;
	if (event_read(&package, &id, msg) || package != d->package) {
		bad_event(d->user, msg);
		return;
	}
	dialog_refresh(d->dialog, msg);
	accept_for(w, msg);
	watcher_notify_soon(w);
}

/* ---- the state that is notified ---- */

int notifier_serve(struct event_user *user, const struct sip_event_state *state,
		   sip_watcher_h *handler, void *arg)
{
	struct served *served;
	struct le *le;

	served = user->served;
	if (!served) {
		served = mem_zalloc(sizeof(*served), served_destructor);
		if (!served)
			return -ENOMEM;
		user->served = served;
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
			watcher_notify_soon(w);
	}
	return 0;
}

unsigned notifier_notifies(const struct event_user *user)
{
	unsigned count = 0;
	struct le *le;

	if (!user->served)
		return 0;
	LIST_FOREACH(&user->served->watchers, le)
	{
		const struct watcher *w = le->data;

		count += w->d.req != NULL || w->again;
	}
	return count;
}

void notifier_end(struct event_user *user)
{
	struct served *served;
	struct watcher *w;

	if (!user->served)
		return;
	served = user->served;
	user->served = NULL;
	while ((w = list_ledata(list_head(&served->watchers)))) {
		list_unlink(&w->le);
		mono_timer_cancel(&w->tmr);
		w->ending = WATCHER_END_NORESOURCE;
		w->d.req = mem_deref(w->d.req);
		w->d.challenges = 0;
		/* the response, or its absence, releases the watcher */
		if (watcher_notify(w))
			mem_deref(w);
	}
	mem_deref(served);
}
