/**
 * We are subscribed to (RFC 6665 section 4.2).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_NOTIFIER_H
#define OFFHOOK_SIP_EVENT_NOTIFIER_H

#include <re.h>

#include "sip/events.h"

struct event_dialog;
struct event_user;

/** A SUBSCRIBE outside of dialogs. @param user  accepts subscriptions */
void notifier_subscribed(struct event_user *user, const struct sip_msg *msg);
/** A SUBSCRIBE within the dialog of a watcher. */
void watcher_refreshed(struct event_dialog *d, const struct sip_msg *msg);

/** sip_account_serve() */
int notifier_serve(struct event_user *user, const struct sip_event_state *state,
		   sip_watcher_h *handler, void *arg);
/** sip_account_notifies() */
unsigned notifier_notifies(const struct event_user *user);
/** sip_account_serve_end() */
void notifier_end(struct event_user *user);

#endif
