/**
 * Received messages: what libre has no function for.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_MESSAGE_H
#define OFFHOOK_SIP_MESSAGE_MESSAGE_H

#include <re.h>

/** Reference a message. @return the reference, the caller's */
struct sip_msg *msg_ref(const struct sip_msg *msg);
/** Copy the reason phrase of a response ("Busy Here"), cut to size. */
void msg_line(char *dst, size_t size, const struct sip_msg *msg);
/** Length of the body: Content-Length, at most what there is; bytes after it in a
 * datagram are ignored (RFC 3261 18.3). */
size_t msg_body_length(const struct sip_msg *msg);
/**
 * Check that the body is as long as Content-Length says (RFC 3261 18.3). Without
 * that header field the body is the rest of the datagram.
 * @return NULL: it is valid; else the reason, usable as a reason phrase (static)
 */
const char *msg_length_fault(const struct sip_msg *msg);

#endif
