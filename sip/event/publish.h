/**
 * We publish (RFC 3903).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_PUBLISH_H
#define OFFHOOK_SIP_EVENT_PUBLISH_H

#include "sip/events.h"

struct originator;

/** sip_publish(). @param origin  of the account; a reference is kept */
int publication_new(struct sip_publication **ret,
		    const struct originator *origin,
		    const struct sip_event_state *state, uint32_t expires_s,
		    sip_publication_h *handler, void *arg);

#endif
