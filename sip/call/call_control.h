/**
 * Calls as the user agent's dispatcher sees them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_CALL_CONTROL_H
#define OFFHOOK_SIP_CALL_CALL_CONTROL_H

#include <re.h>

struct sip_account;

/** An INVITE outside of any dialog: a new call of the account, or a refusal. */
void call_invited(struct sip_account *account, const struct sip_msg *msg);

#endif
