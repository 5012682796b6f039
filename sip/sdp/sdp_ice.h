/**
 * ICE in SDP (RFC 8839): candidates, user name fragment, password, lite, in offer
 * and answer. Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_ICE_H
#define OFFHOOK_SIP_SDP_SDP_ICE_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

/** Parse an attribute of the session or of the audio line, if it is one of ICE.
 * Candidates that are not UDP, have a host name or another component, and more than
 * MEDIA_CANDIDATES_MAX are ignored. */
void sdp_ice_parse(struct media_ice *ice, struct span name, struct span value);

/** Use the session's attributes where the audio line has none (RFC 8839 section
 * 5.4). */
void sdp_ice_inherit(struct media_ice *ice, const struct media_ice *session);

/** Append the attributes of the session: a=ice-lite, a=ice-options.
 * @return 0; -ENOMEM; -EMSGSIZE */
int sdp_ice_write_session(struct buf *b, const struct media_ice *ice);
/** Append the attributes of the audio line.
 * @param components  1: RTP's candidates; 2: RTCP's, too
 * @return 0; -ENOMEM; -EMSGSIZE; -EINVAL an invalid address */
int sdp_ice_write(struct buf *b, const struct media_ice *ice,
		  unsigned components);

/**
 * Settle whether ICE is used (RFC 8839 sections 4.2.5 and 4.3).
 * @param ret   in/out: rtp and rtcp_mux are settled before
 * @param ours  true: the peer answers our offer
 */
void sdp_ice_settle(struct media_negotiated *ret, const struct media_ice *peer,
		    const struct media_ice *local, bool ours);

/** Whether both have the same ICE parameters and candidates. */
bool sdp_ice_same(const struct media_negotiated *a,
		  const struct media_negotiated *b);

#endif
