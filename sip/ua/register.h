/**
 * Registration (RFC 3261 10, RFC 5626, RFC 3608).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_REGISTER_H
#define OFFHOOK_SIP_UA_REGISTER_H

#include <stdint.h>

struct sip_account;

enum register_state {
	REGISTER_IDLE,
	REGISTER_TRYING, /* the first one, or a recovery */
	REGISTER_LOST,   /* a refresh failed; it is tried again later */
	REGISTER_DONE,   /* bound; a refresh may be under way */
	REGISTER_REMOVING,
};

void register_stop(struct sip_account *account);
/** The flow the binding stands on is gone: it is sought again. */
void register_flow_lost(struct sip_account *account, const char *reason);
/** A REGISTER is on the wire. */
void register_sent(struct sip_account *account, int64_t mono_ns);

#endif
