/**
 * NOTIFY without a subscription.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_UNSOLICITED_NOTIFY_H
#define OFFHOOK_SIP_UA_UNSOLICITED_NOTIFY_H

#include <re.h>

struct sip_account;

/**
 * A NOTIFY outside of any dialog.
 * @return false: the account takes none of it; true: it was answered
 */
bool unsolicited_notify_received(struct sip_account *account,
				 const struct sip_msg *msg);

#endif
