/**
 * We are subscribed to (RFC 6665 section 4.2).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_NOTIFIER_H
#define OFFHOOK_SIP_EVENT_NOTIFIER_H

#include <re.h>

struct event_dialog;
struct sip_account;

/** A SUBSCRIBE outside of dialogs. */
void notifier_subscribed(struct sip_account *account,
			 const struct sip_msg *msg);
/** A SUBSCRIBE within the dialog of a watcher. */
void watcher_refreshed(struct event_dialog *d, const struct sip_msg *msg);

#endif
