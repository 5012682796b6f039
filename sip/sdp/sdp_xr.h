/**
 * RTCP XR in SDP: a=rtcp-xr (RFC 3611 section 5.1). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_XR_H
#define OFFHOOK_SIP_SDP_SDP_XR_H

#include "base/buf.h"
#include "base/span.h"

/**
 * Parse the value of a=rtcp-xr, "<block>[=<value>] ...". An empty value asks for no
 * block; unknown blocks are ignored.
 * @return bits of enum media_xr
 */
unsigned sdp_xr_parse(struct span s);

/** Append the attribute, unless xr is 0. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_xr_write(struct buf *b, unsigned xr);

#endif
