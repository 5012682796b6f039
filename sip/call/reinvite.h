/**
 * Re-INVITE, both ways (RFC 3261 14).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REINVITE_H
#define OFFHOOK_SIP_CALL_REINVITE_H

#include <re.h>

struct sip_call;

void reinvite_received(struct sip_call *call, const struct sip_msg *msg);
void reinvite_stop(struct sip_call *call);
/** For the session timer. @return 0; -EBUSY; -errno */
int reinvite_refresh(struct sip_call *call);
/** How long to wait after a 491 (RFC 3261 14.1). */
uint32_t glare_ms(const struct sip_call *call);

#endif
