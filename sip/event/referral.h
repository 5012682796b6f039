/**
 * REFER outside of dialogs (RFC 3515).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_REFERRAL_H
#define OFFHOOK_SIP_EVENT_REFERRAL_H

#include <re.h>

struct event_dialog;
struct sip_account;
struct sip_ua;

/** refer_h of the account is set. */
void referral_received(struct sip_account *account, const struct sip_msg *msg);
/** A SUBSCRIBE within the dialog of one. */
void referral_refreshed(struct event_dialog *d, const struct sip_msg *msg);
/** Answer a REFER to an account that takes none: 400 or 603. */
void referral_declined(struct sip_ua *ua, const struct sip_msg *msg);

#endif
