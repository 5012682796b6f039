/**
 * Checks start lines by RFC 3261 7.1 and 7.2. libre accepts responses with any
 * version and status, and rejects requests of another version.
 * Thread: any.
 */
#ifndef OFFHOOK_SIP_MESSAGE_START_LINE_H
#define OFFHOOK_SIP_MESSAGE_START_LINE_H

#include <re.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Copy a received message for libre's parser. The SIP-Version of a request
 * line is written as "SIP/2.0" whatever it was (it is case-insensitive), so
 * that the header fields of a request of another version can be read for its
 * 505 response.
 * @param mb         empty; its position stays at the start
 * @param ret_other  the request has another version
 * @return 0; -ENOMEM
 */
int start_line_copy(struct mbuf *mb, const uint8_t *data, size_t len,
		    bool *ret_other);

/** Whether it is a response of SIP/2.0 with a status of three digits, 100 to 699. */
bool start_line_is_response(const struct sip_msg *msg);

#endif
