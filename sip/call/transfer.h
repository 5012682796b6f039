/**
 * Transfer of calls: REFER within a call, both ways (RFC 3515, RFC 4488), and a
 * call that takes the place of another one (RFC 3891).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_TRANSFER_H
#define OFFHOOK_SIP_CALL_TRANSFER_H

#include <re.h>

struct sip_call;

/** A REFER of the peer within the call: answered, and reported if it is valid. */
void transfer_refer_received(struct sip_call *call, const struct sip_msg *msg);
/** A NOTIFY about our REFER. */
void transfer_notify_received(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: a transfer whose result is not known yet has failed. */
void transfer_stop(struct sip_call *call);

/** Find the call that an INVITE replaces, if any, for call->uas.replaces.
 * @return 0; else the status that refuses the INVITE */
uint16_t transfer_replaces(struct sip_call *call, const struct sip_msg *msg);
/** Our 2xx was sent: end the call that this one replaces. */
void transfer_replace(struct sip_call *call);

#endif
