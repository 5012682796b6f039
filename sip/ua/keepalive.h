/**
 * Keep-alives of the flow an account is registered over, where the registrar
 * offers that (RFC 5626 4.4): CRLF on streams, STUN on UDP. A flow that ends,
 * does not answer, or has another public address is lost: so is the binding.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_KEEPALIVE_H
#define OFFHOOK_SIP_UA_KEEPALIVE_H

#include <re.h>

struct sip_account;
struct sip_ua;
struct keepalive;

/**
 * Start keep-alives of a flow; those of the same flow just go on.
 * @param place    the account's; what was there is stopped
 * @param msg      the registrar's 2xx, which came over the flow
 * @param every_s  Flow-Timer; 0: 120 on streams, 29 on UDP
 */
int keepalive_start(struct keepalive **place, struct sip_account *account,
		    const struct sip_msg *msg, uint32_t every_s);

/** A STUN message was received. @return true: the response to a keep-alive */
bool keepalive_stun(struct sip_ua *ua, const struct sa *src,
		    const uint8_t *data, size_t len);

#endif
