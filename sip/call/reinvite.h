/**
 * Re-INVITE, both ways (RFC 3261 14).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REINVITE_H
#define OFFHOOK_SIP_CALL_REINVITE_H

#include <re.h>

struct sip_call;

/** A re-INVITE of the peer. */
void reinvite_received(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: release our re-INVITE, whose response no longer counts. */
void reinvite_stop(struct sip_call *call);
/** Refresh the session (RFC 4028) by a re-INVITE with the present state.
 * @return 0; -ENOTCONN; -EBUSY: an INVITE or UPDATE runs; -errno */
int reinvite_refresh(struct sip_call *call);

#endif
