/**
 * SDP security descriptions: a=crypto lines (RFC 4568) in offer and answer. Pure:
 * no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_CRYPTO_H
#define OFFHOOK_SIP_SDP_SDP_CRYPTO_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

#define SDP_CRYPTO_MAX 16 /* more usable lines are ignored */

/** The keys in a peer's description. */
struct sdp_crypto {
	bool offered; /* there is an a=crypto line, usable or unusable */
	struct media_crypto lines[SDP_CRYPTO_MAX]; /* usable, in their order */
	size_t count;
	const char *refusal; /* why the first unusable line is unusable, static
			      * text; NULL: all are usable */
};

/**
 * Parse one line. It is unusable with an unknown suite, more than one key, an MKI, a
 * short lifetime, or a mandatory session parameter that changes the packets (RFC
 * 4568 section 6.3; those with a minus are optional).
 * @param s  the value of a=crypto
 */
void sdp_crypto_parse(struct sdp_crypto *crypto, struct span s);

/** Append a line with its line end. @return 0; -ENOMEM; -EMSGSIZE */
int sdp_crypto_write(struct buf *b, const struct media_crypto *crypto);

/**
 * Select the keys of both directions (RFC 4568 section 5.1).
 * @param ours  true: the peer answers our offer, and its line must have a tag and
 *              suite of ours
 * @return false: none of the peer's lines fits (ret untouched)
 */
bool sdp_crypto_settle(struct media_negotiated *ret,
		       const struct sdp_crypto *peer,
		       const struct media_local *local, bool ours);

/**
 * Wipe the secrets of a struct: SRTP keys, ICE user name fragment and password (RFC
 * 8839). Other fields are no secrets and stay.
 */
void sdp_local_wipe(struct media_local *local);
/** As sdp_local_wipe(). */
void sdp_negotiated_wipe(struct media_negotiated *deal);
/** As sdp_local_wipe(). */
void sdp_crypto_wipe(struct sdp_crypto *crypto, struct media_ice *ice);

/** Whether keys and suite are the same; tags do not matter. */
bool sdp_crypto_same(const struct media_crypto *a,
		     const struct media_crypto *b);

#endif
