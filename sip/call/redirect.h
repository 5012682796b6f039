/**
 * The targets of a call that is redirected (RFC 3261 8.1.3.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REDIRECT_H
#define OFFHOOK_SIP_CALL_REDIRECT_H

#include <re.h>

/** Embedded in the call; all zero before its first use. */
struct call_redirect {
	struct list targets; /* not tried yet, best first */
	struct list tried;   /* with the first one */
	uint32_t count;      /* redirections */
};

/** A 3xx: its contacts become targets, but for those that are known.
 * @param target  that answered it */
void redirect_take(struct call_redirect *r, const char *target,
		   const struct sip_msg *msg);
/**
 * The best target that is left; it counts as tried.
 * @param ret  its URI: a libre object, borrowed
 * @param max  redirections of the call
 * @return 0; -ENOENT: there is none; -ELOOP: max is reached
 */
int redirect_next(char **ret, struct call_redirect *r, uint32_t max);
/** Why a 3xx ends the call, for people.
 * @param reason  REASON_BYTES
 * @param max     as for redirect_next(); 0: redirections are not followed */
void redirect_reason(char *reason, const struct call_redirect *r, uint32_t max,
		     const struct sip_msg *msg);
/** The call has been redirected. */
bool redirect_happened(const struct call_redirect *r);
void redirect_release(struct call_redirect *r);

#endif
