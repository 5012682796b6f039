/**
 * Reliable provisional responses as called party (RFC 3262).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_RELIABLE_PROVISIONAL_H
#define OFFHOOK_SIP_CALL_RELIABLE_PROVISIONAL_H

#include <re.h>

#include "sip/mono_timer.h"

struct media_local;
struct sip_call;

/** Our reliable provisional responses (RFC 3262 section 3). */
struct reliable {
	struct mbuf *mb; /* the one that waits for its PRACK, or NULL */
	uint32_t rseq;
	unsigned count;   /* transmissions */
	bool offers;      /* it has our offer: the PRACK answers */
	bool answered;    /* one of them had our answer */
	bool answer_next; /* sip_call_answer() waits */
	struct list queue;
	struct mono_timer tmr;
	struct mono_timer tmr_end;
};

/** The INVITE and our options ask for reliable responses. */
bool reliable_wanted(const struct sip_call *call);
void reliable_received(struct sip_call *call, const struct sip_msg *msg);
void reliable_stop(struct sip_call *call);
/** Send now, or when the PRACK for the one before came. */
int reliable_send(struct sip_call *call, uint16_t code,
		  const struct media_local *media, char *reason);

#endif
