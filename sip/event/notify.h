/**
 * A received NOTIFY (RFC 6665 8.2.3): its state and its body.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_NOTIFY_H
#define OFFHOOK_SIP_EVENT_NOTIFY_H

#include "sip/event/event_dialog.h"

struct transaction_layer;

struct notify {
	bool unsolicited; /* set before: needs no Subscription-State, and
			   * its state is "unsolicited" */
	char state[32];
	char reason[64];
	bool terminated;
	bool has_expires;
	uint32_t expires_s;
	uint32_t retry_after_s;
	struct sip_presence presence;
	struct sip_mwi mwi;
	bool has_body;
};

/**
 * Read a NOTIFY; a wrong one is refused.
 * @param n        zeros before, but for unsolicited
 * @param package  the expected event package
 * @return false: it was refused
 */
bool notify_read(struct notify *n, struct transaction_layer *layer,
		 enum sip_package package, const struct sip_msg *msg);

#endif
