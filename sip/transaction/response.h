/**
 * Responses as they are written (RFC 3261 8.2.6), and where they go.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_RESPONSE_H
#define OFFHOOK_SIP_TRANSACTION_RESPONSE_H

#include <re.h>

struct hop;

/** The phrase of RFC 3261 section 21, where no other was given.
 * @return static text */
const char *response_phrase(uint16_t code);

/** Where the response to a request goes (RFC 3261 18.2.2, RFC 3581). */
void response_hop(struct hop *hop, const struct sip_msg *msg);

/**
 * Begin a response: up to its own lines, which are written behind it.
 * @param ret       the caller's
 * @param software  the Server header; NULL: none
 * @param routes    copy Record-Route
 * @return 0; -ENOMEM; -errno
 */
int response_begin(struct mbuf **ret, const char *software,
		   const struct sip_msg *msg, bool routes, uint16_t code,
		   const char *reason);
/** It has no body: the end of it. @return 0; -ENOMEM */
int response_end(struct mbuf *mb);

#endif
