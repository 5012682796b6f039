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

/** Registration ends without a request: account and timers are idle. */
void register_stop(struct sip_account *account);
/** The flow of the binding is lost: register again later (RFC 5626 4.5). */
void register_flow_lost(struct sip_account *account, const char *reason);
/** A REGISTER is about to be handed to the socket. */
void register_sent(struct sip_account *account, int64_t mono_ns);

#endif
