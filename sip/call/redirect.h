/**
 * Redirection of a call we place (RFC 3261 8.1.3.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REDIRECT_H
#define OFFHOOK_SIP_CALL_REDIRECT_H

#include <re.h>

struct sip_call;

/**
 * A 3xx: go on with the best of its contacts.
 * @param reason  REASON_BYTES, why there is none
 * @return true: another INVITE is under way
 */
bool redirect_take(struct sip_call *call, const struct sip_msg *msg,
		   char *reason);
/** The INVITE goes to a contact itself, not through the account's target. */
bool redirect_away(const struct sip_call *call);
/** A contact failed: the next one, if there is one. */
bool redirect_next(struct sip_call *call);

#endif
