/**
 * Where a SIP message ends in a stream (RFC 3261 18.3, 7.5). Pure.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_FRAME_H
#define OFFHOOK_SIP_TRANSPORT_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Largest message with its body. */
#define FRAME_BYTES_MAX 65536

/**
 * Find the end of the first message in a buffer.
 * @param ret_len  length of the message; with -EAGAIN the number of bytes, more
 *                 than len, that the next attempt needs at least
 * @return 0; -EAGAIN more bytes are needed; -EBADMSG it has no usable
 *         Content-Length, or two that differ, so that its end is unknown;
 *         -EMSGSIZE it is, or will be, longer than FRAME_BYTES_MAX
 */
int frame_find(const uint8_t *data, size_t len, size_t *ret_len);

#endif
