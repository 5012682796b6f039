/**
 * Redirection of a call we place (RFC 3261 8.1.3.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REDIRECT_H
#define OFFHOOK_SIP_CALL_REDIRECT_H

#include <re.h>

struct sip_call;

/** Send the INVITE of the call to its dialog's target. @return 0; -errno */
typedef int(redirect_invite_h)(struct sip_call *call);

/**
 * A 3xx: send the INVITE to the best of its contacts (RFC 3261 8.1.3.4).
 * @param reason  REASON_BYTES, why there is none; unset else
 * @return true: another INVITE was sent
 */
bool redirect_take(struct sip_call *call, const struct sip_msg *msg,
		   redirect_invite_h *invite_h, char *reason);
/** The INVITE went to a contact itself, not to the account's target. */
bool redirect_away(const struct sip_call *call);
/** The INVITE to a contact failed: send one to the next contact.
 * @return false: there is none, or options.redirects_max is reached */
bool redirect_next(struct sip_call *call, redirect_invite_h *invite_h);

#endif
