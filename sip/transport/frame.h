/**
 * Where a SIP message ends in a stream (RFC 3261 18.3, 7.5). Pure.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_FRAME_H
#define OFFHOOK_SIP_TRANSPORT_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* A message with its body; more is not ours to hold. */
#define FRAME_BYTES_MAX 65536

/**
 * @param ret_len  length of the first message in the buffer; with -EAGAIN how
 *                 many bytes there must be before it is worth another look,
 *                 more than len
 * @return 0; -EAGAIN more bytes are needed; -EBADMSG its head has no usable
 *         Content-Length, or two that differ: nobody knows where the next one begins; -EMSGSIZE it
 *         is, or will be, longer than FRAME_BYTES_MAX
 */
int frame_find(const uint8_t *data, size_t len, size_t *ret_len);

#endif
