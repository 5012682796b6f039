/**
 * Decodes SIP messages (RFC 3261 section 7) with the same result as libre's
 * sip_msg_decode(), at a third of its cost. Messages in the usual form (CRLF, no
 * folded lines, no empty values) are read here; all others, also malformed ones,
 * by libre.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_DECODE_H
#define OFFHOOK_SIP_MESSAGE_DECODE_H

#include <re.h>

/**
 * Decode a message.
 * @param ret  a libre object, the caller's. Its header fields belong to it and
 *             must not be referenced separately. Written on success only.
 * @param mb   borrowed, referenced by the message; on success its position is at
 *             the body
 * @return 0; -EBADMSG, -ENODATA, -EINVAL, -ENOENT malformed; -ENOMEM
 */
int decode_message(struct sip_msg **ret, struct mbuf *mb);

#endif
