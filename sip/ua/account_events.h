/**
 * Subscriptions, publications and notifications of an account (events.h), and
 * NOTIFYs without a subscription.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_ACCOUNT_EVENTS_H
#define OFFHOOK_SIP_UA_ACCOUNT_EVENTS_H

#include <re.h>

struct sip_account;

/**
 * A NOTIFY outside of any dialog.
 * @return false: the account takes no such NOTIFY; true: it was answered
 */
bool account_events_unsolicited(struct sip_account *account,
				const struct sip_msg *msg);

#endif
