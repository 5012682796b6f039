/**
 * REFER within a call, both ways (RFC 3515, RFC 4488).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REFER_H
#define OFFHOOK_SIP_CALL_REFER_H

#include <re.h>

struct sip_call;

/** A REFER of the peer within the call: answered, and reported if it is valid. */
void refer_received(struct sip_call *call, const struct sip_msg *msg);
/** A NOTIFY about our REFER. */
void refer_notified(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: a transfer whose result is not known yet has failed. */
void refer_stop(struct sip_call *call);

#endif
