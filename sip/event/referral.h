/**
 * REFER outside of dialogs (RFC 3515).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_REFERRAL_H
#define OFFHOOK_SIP_EVENT_REFERRAL_H

#include <re.h>

struct event_dialog;
struct event_user;
struct transaction_layer;

/** A REFER outside of dialogs. @param user  its refer_h is set */
void referral_received(struct event_user *user, const struct sip_msg *msg);
/** A SUBSCRIBE within the dialog of a referral. */
void referral_refreshed(struct event_dialog *d, const struct sip_msg *msg);
/** Refuse a REFER to an account that accepts none: 400 or 603. */
void referral_declined(struct transaction_layer *layer,
		       const struct sip_msg *msg);

#endif
