/**
 * A call that takes the place of another one (RFC 3891).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_REPLACES_H
#define OFFHOOK_SIP_CALL_REPLACES_H

#include <re.h>

struct sip_call;

/** The call that an INVITE replaces, if any: call->uas.replaces.
 * @return 0; else the status that refuses the INVITE */
uint16_t replaces_take(struct sip_call *call, const struct sip_msg *msg);
/** Our 2xx was sent: end the call it replaces. */
void replaces_done(struct sip_call *call);
/** URI for Refer-To: a call to the peer of this one that replaces it. */
int replaces_refer(char **ret, const struct sip_call *other);

#endif
