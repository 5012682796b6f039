/**
 * Netstrings ("5:hello,") in a stream, as baresip's ctrl_tcp speaks them.
 * Source: https://cr.yp.to/proto/netstrings.txt
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BARESIP_NETSTRING_H
#define OFFHOOK_SIP_BARESIP_NETSTRING_H

#include <stddef.h>

#include "base/buf.h"

#define NETSTRING_BYTES_MAX 65536 /* of one */

/**
 * Find the first one.
 * @param ret_at    where its bytes begin
 * @param ret_len   how many they are; with the comma it ends at
 *                  *ret_at + *ret_len + 1
 * @return 0; -EAGAIN more bytes are needed; -EBADMSG it is none; -EMSGSIZE it
 *         is longer than NETSTRING_BYTES_MAX
 */
int netstring_find(const char *data, size_t len, size_t *ret_at,
		   size_t *ret_len);

/** Append one. @return 0; -ENOMEM; -EMSGSIZE */
int netstring_add(struct buf *b, const char *text, size_t len);

#endif
