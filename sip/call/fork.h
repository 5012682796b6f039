/**
 * Other branches of our INVITE that were answered, too (RFC 3261 13.2.2.4).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_FORK_H
#define OFFHOOK_SIP_CALL_FORK_H

#include <re.h>

struct sip_call;

void fork_answered(struct sip_call *call, const struct sip_msg *msg);

#endif
