/**
 * What is volatile in SIP and SDP: parts that differ between two runs of an
 * unchanged system. They are replaced by "*", so that the rest can be compared.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_MASK_H
#define OFFHOOK_SERVER_DIFFERENCE_MASK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/** The full name of a header field in the spelling of the RFCs, if it is known;
 * else the name itself. @param name  full or compact, any case */
const char *mask_header_name(const char *name);

/**
 * Append a header field value without its volatile parts.
 * @param name   of mask_header_name()
 * @param value  unfolded
 * @return 1; 0: the field is volatile as a whole, nothing was appended;
 *         -ENOMEM, -EMSGSIZE
 */
int mask_header(struct buf *b, const char *name, const char *value);

/**
 * Append a line of a session description without its volatile parts.
 * @param ours  we have sent it: its addresses are the agent's
 * @return as mask_header()
 */
int mask_sdp_line(struct buf *b, const char *line, size_t len, bool ours);

#endif
