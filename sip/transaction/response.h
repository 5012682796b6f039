/**
 * Writes responses (RFC 3261 8.2.6), and finds where they are sent.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_RESPONSE_H
#define OFFHOOK_SIP_TRANSACTION_RESPONSE_H

#include <re.h>

struct hop;

/** The default reason phrase (RFC 3261 section 21).
 * @return static text */
const char *response_phrase(uint16_t code);

/** Find where the response to a request is sent (RFC 3261 18.2.2, RFC 3581).
 * @param hop  filled; its connection is borrowed */
void response_hop(struct hop *hop, const struct sip_msg *msg);

/**
 * Begin a response: status line and the fields copied from the request. The caller
 * appends its own header lines, then response_end() or a body.
 * @param ret       the caller's
 * @param software  the Server header; NULL: none
 * @param routes    copy Record-Route
 * @return 0; -ENOMEM; -errno
 */
int response_begin(struct mbuf **ret, const char *software,
		   const struct sip_msg *msg, bool routes, uint16_t code,
		   const char *reason);
/** End a response without body. @return 0; -ENOMEM */
int response_end(struct mbuf *mb);

#endif
