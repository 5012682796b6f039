/**
 * SRTP crypto suites and the derivation of session keys.
 * Source: RFC 3711 4.3 (no key derivation rate), RFC 6188, RFC 7714 11
 * Thread: any; no state.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_KEYS_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_KEYS_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

#define SRTP_CIPHER_KEY_BYTES_MAX 32
#define SRTP_SALT_BYTES           14 /* AES-GCM uses 12 of them */
#define SRTP_AUTH_KEY_BYTES       20 /* RFC 3711 5.2 */

struct srtp_suite_info {
	const char *name; /* in SDP */
	uint8_t key_bytes;
	uint8_t salt_bytes;
	uint8_t tag_bytes;
	uint8_t rtcp_tag_bytes;
	bool aead;
};

/** @return NULL: there is no such suite */
const struct srtp_suite_info *srtp_suite_info(enum media_srtp_suite suite);

/** Keys of RTP, or of RTCP. Secret: wiped by whoever holds them. */
struct srtp_session_key {
	uint8_t cipher[SRTP_CIPHER_KEY_BYTES_MAX];
	uint8_t salt[SRTP_SALT_BYTES];
	uint8_t auth[SRTP_AUTH_KEY_BYTES];
};

struct srtp_session_keys {
	struct srtp_session_key rtp;
	struct srtp_session_key rtcp;
};

/** @return 0; -EINVAL suite unknown; -ENOMEM; -EIO libcrypto refused; ret is
 * wiped on failure */
int srtp_keys_derive(struct srtp_session_keys *ret,
		     const struct media_crypto *crypto);

#endif
