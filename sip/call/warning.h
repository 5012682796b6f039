/**
 * The Warning header (RFC 3261 section 20.43): why an offer was refused.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_WARNING_H
#define OFFHOOK_SIP_CALL_WARNING_H

#include <stddef.h>

#include "sip/transaction/server_transaction.h"

/**
 * Answer a request 488 (Not Acceptable Here), with a Warning; 415 with Accept
 * for -EPROTONOSUPPORT, a body of another type.
 * @param server  as of server_transaction_replyf()
 * @param err     why its SDP was refused: -ENOENT no codec in common (305),
 *                -ENOKEY no keys (306), -EINVAL no audio (304), -EAFNOSUPPORT
 *                another address family (301), -EPROTOTYPE another profile
 *                (302), -EADDRNOTAVAIL no unicast address (330); else 399
 * @param text    our reason, one line; NULL: what err means
 */
void warning_refuse(struct server_transaction **server,
		    struct transaction_layer *layer, const struct sip_msg *msg,
		    int err, const char *text);

/**
 * The first warning of a response as "305 no common codec".
 * @param value  of the header, from outside
 * @param dst    the text is cut where it is full; what cannot be printed is
 *               '?'; "" where the value is no warning
 */
void warning_parse(char *dst, size_t size, const char *value, size_t len);

/** The same of a message. @param dst  "" without one */
void warning_read(char *dst, size_t size, const struct sip_msg *msg);

#endif
