/**
 * UPDATE, both ways (RFC 3311).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_UPDATE_H
#define OFFHOOK_SIP_CALL_UPDATE_H

#include <re.h>

struct sip_call;

/** An UPDATE of the peer: answer it. */
void update_received(struct sip_call *call, const struct sip_msg *msg);
/** Send an UPDATE without an offer, for the session timer. @return 0; -EBUSY; -errno */
int update_refresh(struct sip_call *call);
/** Our UPDATE has an offer that is not answered yet. */
bool update_offers(const struct sip_call *call);
/** The early dialogs are over: our UPDATE in that of the branch that answered goes
 * on in the call's dialog, one in another's is over.
 * @param why  of the latter's SIP_CALL_ANSWER_TO */
void update_early_end(struct sip_call *call, const char *why);
/** The call ends: an UPDATE that waits to be sent again is dropped. */
void update_stop(struct sip_call *call);

#endif
