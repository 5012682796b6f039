/**
 * SRTP crypto suites, and session keys derived from a master key.
 * Source: RFC 3711 4.3 (no key derivation rate), RFC 6188, RFC 7714 11
 * Thread: any; no state.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_KEYS_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_KEYS_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

#define SRTP_CIPHER_KEY_BYTES_MAX 32
#define SRTP_SALT_BYTES           14 /* AES-GCM uses the first 12 */
#define SRTP_AUTH_KEY_BYTES       20 /* RFC 3711 5.2 */

struct srtp_suite_info {
	const char *name; /* in SDP */
	uint8_t key_bytes;
	uint8_t salt_bytes;
	uint8_t tag_bytes;
	uint8_t rtcp_tag_bytes;
	bool aead;
};

/** Sizes and name of a suite. @return static; NULL: there is no such suite */
const struct srtp_suite_info *srtp_suite_info(enum media_srtp_suite suite);

/** Session keys of RTP, or of RTCP. Secret: to be wiped by the owner. */
struct srtp_session_key {
	uint8_t cipher[SRTP_CIPHER_KEY_BYTES_MAX];
	uint8_t salt[SRTP_SALT_BYTES];
	uint8_t auth[SRTP_AUTH_KEY_BYTES];
};

struct srtp_session_keys {
	struct srtp_session_key rtp;
	struct srtp_session_key rtcp;
};

/** Derive the session keys of a master key (RFC 3711 4.3).
 * @return 0; -EINVAL suite unknown; -ENOMEM; -EIO libcrypto refused; ret is
 * zero on failure */
int srtp_keys_derive(struct srtp_session_keys *ret,
		     const struct media_crypto *crypto);

#endif
