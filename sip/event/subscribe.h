/**
 * We subscribe (RFC 6665 section 4.1).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_SUBSCRIBE_H
#define OFFHOOK_SIP_EVENT_SUBSCRIBE_H

#include <re.h>

#include "sip/events.h"

struct event_dialog;
struct event_user;

/** sip_subscribe() */
int subscription_new(struct sip_subscription **ret, struct event_user *user,
		     const struct sip_subscribe_params *params);
/** A NOTIFY of a subscription. */
void subscription_notified(struct event_dialog *d, const struct sip_msg *msg);

#endif
