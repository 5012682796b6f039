/**
 * ICE in SDP (RFC 8839): candidates, user name fragment, password, lite, and
 * what offer and answer make of them. Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_ICE_H
#define OFFHOOK_SIP_SDP_SDP_ICE_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

/** Take an attribute of the session or of the audio line, if it is one of
 * ICE; candidates over anything but UDP, by name, of other components, and
 * more than MEDIA_CANDIDATES_MAX are ignored. */
void sdp_ice_parse(struct media_ice *ice, struct span name, struct span value);

/** The audio line's own, else what the session said (RFC 8839 section 5.4). */
void sdp_ice_inherit(struct media_ice *ice, const struct media_ice *session);

/** Append what belongs to the session: a=ice-lite, a=ice-options.
 * @return 0; -ENOMEM; -EMSGSIZE */
int sdp_ice_write_session(struct buf *b, const struct media_ice *ice);
/** Append what belongs to the audio line.
 * @param components  1: RTCP has no candidates; 2
 * @return 0; -ENOMEM; -EMSGSIZE; -EINVAL an address */
int sdp_ice_write(struct buf *b, const struct media_ice *ice,
		  unsigned components);

/**
 * Do both do ICE? (RFC 8839 sections 4.2.5 and 4.3)
 * @param ret   rtp and rtcp_mux are settled
 * @param ours  the peer answers our offer
 */
void sdp_ice_settle(struct media_negotiated *ret, const struct media_ice *peer,
		    const struct media_ice *local, bool ours);

/** Nothing that ICE would see differs. */
bool sdp_ice_same(const struct media_negotiated *a,
		  const struct media_negotiated *b);

#endif
