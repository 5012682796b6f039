/**
 * Decode SIP messages (RFC 3261 section 7), several a call: the same result
 * as sip_msg_decode() of libre, at a third of its cost. Messages in the usual
 * form (CRLF, no folded lines, no empty values) are read here. All others,
 * and those in which anything is wrong, are given to libre, which decides.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_DECODE_H
#define OFFHOOK_SIP_MESSAGE_DECODE_H

#include <re.h>

/**
 * Decode a message.
 * @param ret  a libre object, the caller's. Its header fields belong to it:
 *             none may be referenced on its own. Written on success only.
 * @param mb   borrowed, referenced by the message; on success it stands at
 *             the body
 * @return 0; -EBADMSG, -ENODATA, -EINVAL, -ENOENT it is no message; -ENOMEM
 */
int decode_message(struct sip_msg **ret, struct mbuf *mb);

#endif
