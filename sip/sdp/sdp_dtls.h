/**
 * DTLS-SRTP in SDP: a=fingerprint (RFC 8122) and a=setup (RFC 4145, RFC 5763),
 * and what offer and answer make of them. Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_DTLS_H
#define OFFHOOK_SIP_SDP_SDP_DTLS_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

/* a=setup (RFC 4145 section 4) */
enum sdp_setup {
	SDP_SETUP_NONE,
	SDP_SETUP_ACTPASS,
	SDP_SETUP_ACTIVE,
	SDP_SETUP_PASSIVE,
	SDP_SETUP_HOLDCONN,
};

/** What a peer said about its association. */
struct sdp_dtls {
	struct media_fingerprint fingerprint; /* len 0: none that we know */
	enum sdp_setup setup;
};

/** Take what stands behind "a=fingerprint:"; one with a hash that we do not
 * know, or is weak (md2, md5), is ignored; of several the first is kept. */
void sdp_fingerprint_parse(struct sdp_dtls *dtls, struct span s);
/** Take what stands behind "a=setup:". */
void sdp_setup_parse(struct sdp_dtls *dtls, struct span s);

/** Append both attributes. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_dtls_write(struct buf *b, const struct media_fingerprint *fingerprint,
		   enum sdp_setup setup);

/**
 * A peer that leaves open who begins goes on in the role it has: with another
 * one its association would end (RFC 8842 sections 4 and 5.5). For answers,
 * that may not leave it open, too: baresip's to a re-INVITE do.
 * @param peer    in/out
 * @param before  what was settled last
 */
void sdp_dtls_keep(struct sdp_dtls *peer,
		   const struct media_negotiated *before);

/**
 * Who begins (RFC 5763 section 5): as answerer we do, if the offer leaves it.
 * @param ours  the peer answers our offer
 * @return NULL; why it cannot be (static text)
 */
const char *sdp_dtls_settle(struct media_negotiated *ret,
			    const struct sdp_dtls *peer, bool ours);

#endif
