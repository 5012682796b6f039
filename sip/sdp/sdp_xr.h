/**
 * RTCP XR in SDP: a=rtcp-xr (RFC 3611 section 5.1). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_XR_H
#define OFFHOOK_SIP_SDP_SDP_XR_H

#include "base/buf.h"
#include "base/span.h"

/**
 * "<block>[=<value>] ...", what stands behind "a=rtcp-xr:"; nothing there asks
 * for none, blocks that we have not are ignored.
 * @return enum media_xr
 */
unsigned sdp_xr_parse(struct span s);

/** Append the attribute, if it is of anything. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_xr_write(struct buf *b, unsigned xr);

#endif
