#include "sip/event/watcher.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/dialog/contact.h"
#include "sip/dialog/originator.h"
#include "sip/error.h"
#include "sip/event/event_user.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"

static void watcher_destructor(void *arg)
{
	struct watcher *w = arg;

	list_unlink(&w->le);
	mono_timer_cancel(&w->tmr);
	event_dialog_release(&w->d);
	mem_deref(w->id);
	mem_deref(w->uri);
}

int watcher_new(struct watcher **ret, struct event_user *user,
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
		err = event_dialog_accept(&w->d, user, msg);
	if (err) {
		mem_deref(w);
		return err;
	}
	*ret = w;
	return 0;
}

/* ---- events ---- */

void watcher_tell(struct watcher *w, enum sip_watcher_event event,
		  const struct sip_msg *msg, const char *reason)
{
	const struct served *served = w->d.user->served;
	struct sip_watcher_info info = {
		.mono_ns = msg ? originator_received_ns(w->d.origin)
			       : clock_mono_ns(),
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
	served->handler(w->d.user->account, event, &info, served->arg);
}

/* Report the end and release the watcher, with its request under way. */
static void gone(struct watcher *w, const struct sip_msg *msg,
		 const char *reason)
{
	w->d.req = mem_deref(w->d.req);
	w->again = false;
	watcher_tell(w, SIP_WATCHER_GONE, msg, reason);
	mem_deref(w);
}

/* ---- NOTIFY ---- */

static int sent_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg)
{
	struct watcher *w = arg;
	(void)dst;

	return contact_write(mb, w->d.origin, src, tp);
}

static void settled(struct watcher *w, const struct sip_msg *msg)
{
	char reason[REASON_BYTES];

	msg_line(reason, sizeof(reason), msg);
	if (w->told_end) {
		gone(w, msg, w->ending);
		return;
	}
	watcher_tell(w, SIP_WATCHER_NOTIFIED, msg, reason);
	if (w->again)
		watcher_notify_soon(w);
}

static void response_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct watcher *w = arg;
	char reason[REASON_BYTES];

	if (!err && msg->scode < 200)
		return;
	if (!err && digest_asked(msg) &&
	    digest_challenge(w->d.digest, &w->d.challenges, msg) == 0 &&
	    watcher_notify(w) == 0)
		return;
	mem_ref(w);
	if (!err && msg->scode < 300) {
		settled(w, msg);
	} else {
		/* RFC 6665 4.2.2: a NOTIFY that is refused ends the
		 * subscription */
		if (err)
			originator_failure_at(reason, sizeof(reason),
					      w->d.origin, w->uri, err);
		else
			msg_line(reason, sizeof(reason), msg);
		gone(w, err ? NULL : msg, reason);
	}
	mem_deref(w);
}

/* @return 0; 1: the account serves no state any more; -errno */
static int body_print(char *dst, size_t size, const struct watcher *w)
{
	const struct served *served = w->d.user->served;
	int n;

	if (!served)
		return 1;
	n = event_body(dst, size, w->d.package, &served->presence, &served->mwi,
		       originator_aor(w->d.origin));
	return n < 0 ? n : 0;
}

int watcher_notify(struct watcher *w)
{
	char lines[192], body[EVENT_BODY_BYTES];
	struct dialog_request_params request = {
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

void watcher_notify_soon(struct watcher *w)
{
	w->again = true;
	if (w->d.req)
		return;
	w->d.challenges = 0;
	if (watcher_notify(w))
		mono_timer_start(&w->tmr, 0, unsent_handler, w);
}

void watcher_expired(void *arg)
{
	struct watcher *w = arg;

	w->ending = WATCHER_END_TIMEOUT;
	watcher_notify_soon(w);
}
