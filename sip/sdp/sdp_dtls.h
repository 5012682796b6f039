/**
 * DTLS-SRTP in SDP: a=fingerprint (RFC 8122) and a=setup (RFC 4145, RFC 5763),
 * in offer and answer. Pure: no libre.
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

/** The DTLS attributes in a peer's description. */
struct sdp_dtls {
	struct media_fingerprint fingerprint; /* len 0: no known one */
	enum sdp_setup setup;
};

/** Parse the value of a=fingerprint. One with an unknown or weak hash (md2, md5) is
 * ignored; of several the first is kept. */
void sdp_fingerprint_parse(struct sdp_dtls *dtls, struct span s);
/** Parse the value of a=setup. */
void sdp_setup_parse(struct sdp_dtls *dtls, struct span s);

/** Append both attributes. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_dtls_write(struct buf *b, const struct media_fingerprint *fingerprint,
		   enum sdp_setup setup);

/**
 * Let a peer with a=setup:actpass keep its role, as another one would end the
 * association (RFC 8842 sections 4 and 5.5). Also for answers, which must not have
 * actpass: baresip's answer to a re-INVITE has it.
 * @param peer    in/out
 * @param before  the last negotiated media
 */
void sdp_dtls_keep(struct sdp_dtls *peer,
		   const struct media_negotiated *before);

/**
 * Settle fingerprint and roles (RFC 5763 section 5): as answerer we take the active
 * one if the offer allows it.
 * @param ours  true: the peer answers our offer
 * @return NULL; else why it is impossible (static text)
 */
const char *sdp_dtls_settle(struct media_negotiated *ret,
			    const struct sdp_dtls *peer, bool ours);

#endif
