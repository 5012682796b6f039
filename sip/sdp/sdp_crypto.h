/**
 * SDP security descriptions: a=crypto lines (RFC 4568), and what offer and
 * answer make of them. Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_CRYPTO_H
#define OFFHOOK_SIP_SDP_SDP_CRYPTO_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

#define SDP_CRYPTO_MAX 16 /* more usable lines are ignored */

/** What a peer said about keys. */
struct sdp_crypto {
	bool offered; /* there is an a=crypto line, usable or not */
	struct media_crypto lines[SDP_CRYPTO_MAX]; /* usable, in its order */
	size_t count;
	const char *refusal; /* static text: why the first unusable line is
			      * that; NULL: none was */
};

/**
 * Take one line. Unusable is one with a suite we do not know, more than one
 * key, an MKI, a short lifetime, or a session parameter that changes what is
 * on the wire (RFC 4568 section 6.3; those with a minus are optional).
 * @param s  what stands behind "a=crypto:"
 */
void sdp_crypto_parse(struct sdp_crypto *crypto, struct span s);

/** Append a line with its line end. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_crypto_write(struct buf *b, const struct media_crypto *crypto);

/**
 * The keys of both directions (RFC 4568 section 5.1).
 * @param ours  the peer answers our offer: its line must be one of ours
 * @return true; false: none of the peer's lines fits (ret untouched)
 */
bool sdp_crypto_settle(struct media_negotiated *ret,
		       const struct sdp_crypto *peer,
		       const struct media_local *local, bool ours);

/**
 * Wipe the secrets: SRTP keys, and the ICE user fragment and password (RFC
 * 8839). The other fields, which are most of each struct, are no secrets.
 */
void sdp_local_wipe(struct media_local *local);
void sdp_negotiated_wipe(struct media_negotiated *deal);
void sdp_crypto_wipe(struct sdp_crypto *crypto, struct media_ice *ice);

/** The same keys and suite; tags do not matter. */
bool sdp_crypto_same(const struct media_crypto *a,
		     const struct media_crypto *b);

#endif
