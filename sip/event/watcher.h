/**
 * A subscription of somebody else to our state: the NOTIFYs it gets (RFC 6665
 * section 4.2.2). notifier.c takes the SUBSCRIBEs, and has the state.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_WATCHER_H
#define OFFHOOK_SIP_EVENT_WATCHER_H

#include <re.h>

#include "sip/event/event_dialog.h"
#include "sip/events.h"
#include "sip/mono_timer.h"

/* Reasons of the last NOTIFY (RFC 6665 4.1.3) */
#define WATCHER_END_TIMEOUT    "timeout"
#define WATCHER_END_NORESOURCE "noresource"

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
	bool again;         /* the state changed since the last NOTIFY */
	const char *ending; /* static: reason of the last NOTIFY, or NULL */
	bool told_end;      /* the last NOTIFY was sent */
	struct mono_timer tmr;
};

/**
 * A watcher in the dialog that a SUBSCRIBE begins; in no list yet.
 * @param id  of its Event header, or not set
 * @return 0; -EBADMSG; -ENOMEM; -errno
 */
int watcher_new(struct watcher **ret, struct event_user *user,
		const struct sip_msg *msg, const struct pl *id);
/** Report an event of the watcher. @param msg  that caused it, or NULL */
void watcher_tell(struct watcher *w, enum sip_watcher_event event,
		  const struct sip_msg *msg, const char *reason);
/**
 * Send a NOTIFY with the present state. One at a time (RFC 6665 4.2.2).
 * @return 0; -errno
 */
int watcher_notify(struct watcher *w);
/** Notify the state now, or after the response to the NOTIFY under way. */
void watcher_notify_soon(struct watcher *w);
/** The subscription expired: a timer's handler. */
void watcher_expired(void *arg);

#endif
