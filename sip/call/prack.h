/**
 * PRACK as calling party (RFC 3262).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_PRACK_H
#define OFFHOOK_SIP_CALL_PRACK_H

#include <re.h>

struct buf;
struct early;
struct sip_call;

bool prack_is_reliable(const struct sip_call *call, const struct sip_msg *msg);
/** Acknowledge a reliable response. @param sdp  our answer, or NULL */
int prack_send(struct sip_call *call, struct early *early,
	       const struct sip_msg *msg, const struct buf *sdp);

#endif
