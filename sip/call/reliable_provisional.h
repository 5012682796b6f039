/**
 * Reliable provisional responses as called party (RFC 3262).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_RELIABLE_PROVISIONAL_H
#define OFFHOOK_SIP_CALL_RELIABLE_PROVISIONAL_H

#include <re.h>

struct media_local;
struct sip_call;

/** The INVITE and our options ask for reliable responses. */
bool reliable_wanted(const struct sip_call *call);
/** A PRACK of the peer: answer it, go on with the next response. */
void reliable_received(struct sip_call *call, const struct sip_msg *msg);
/** The call ends: nothing is sent again, what is queued is dropped. */
void reliable_stop(struct sip_call *call);
/**
 * Send a provisional response reliably, now or when the PRACK for the one before
 * has come.
 * @param media   makes our offer or answer; or NULL
 * @param reason  REASON_BYTES, why the offer is unusable
 * @return 0; -EBUSY: too many are queued; -ENOMEM; -errno
 */
int reliable_send(struct sip_call *call, uint16_t code,
		  const struct media_local *media, char *reason);

#endif
