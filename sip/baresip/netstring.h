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
 * Find the first netstring in a buffer.
 * @param ret_at    offset of its text
 * @param ret_len   length of its text; the netstring, with its comma, ends at
 *                  *ret_at + *ret_len + 1
 * @return 0; -EAGAIN more bytes are needed; -EBADMSG malformed; -EMSGSIZE longer
 *         than NETSTRING_BYTES_MAX
 */
int netstring_find(const char *data, size_t len, size_t *ret_at,
		   size_t *ret_len);

/** Append a netstring. @return 0; -ENOMEM; -EMSGSIZE */
int netstring_add(struct buf *b, const char *text, size_t len);

#endif
