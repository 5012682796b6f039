/**
 * What of a received message libre does not tell.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_MESSAGE_H
#define OFFHOOK_SIP_MESSAGE_MESSAGE_H

#include <re.h>

/** @return a reference, the caller's */
struct sip_msg *msg_ref(const struct sip_msg *msg);
/** "Busy Here" of "486 Busy Here": the phrase a peer sent, cut to what there is room for. */
void msg_line(char *dst, size_t size, const struct sip_msg *msg);
/** What follows a datagram's body is no part of it (RFC 3261 18.3). */
size_t msg_body_length(const struct sip_msg *msg);
/**
 * Is the body there that Content-Length announces (RFC 3261 18.3)? Without the
 * header field it is all that the datagram holds.
 * @return NULL: it is; else why not, fit for a reason phrase
 */
const char *msg_length_fault(const struct sip_msg *msg);

#endif
