/**
 * The transforms of SRTP and SRTCP: AES in counter mode with HMAC-SHA1, and
 * AES-GCM. Nothing here allocates after srtp_transform_init(). (srtp_cipher_*
 * are names of libsrtp2's, which the tests link too.)
 * Source: RFC 3711 4, RFC 2104, RFC 7714 8 and 9
 * Thread: the context's.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_TRANSFORM_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_TRANSFORM_H

#include "media/security/srtp_keys.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#define SRTP_AEAD_IV_BYTES  12 /* RFC 7714 8.1 */
#define SRTP_AEAD_TAG_BYTES 16
#define SRTCP_HEADER_BYTES  8 /* length and SSRC stay readable */
#define SRTCP_INDEX_BYTES   4
#define SRTCP_INDEX_MAX     0x7fffffffu
#define SRTP_HMAC_BYTES     SHA_DIGEST_LENGTH /* before it is cut */

/* Session keys of RTP or of RTCP (RFC 3711 4.3). */
struct srtp_transform {
	EVP_CIPHER_CTX *cipher;
	uint8_t salt[SRTP_SALT_BYTES];
	SHA_CTX inner; /* HMAC's state behind the padded key */
	SHA_CTX outer;
	size_t tag_bytes;
};

/**
 * @param from    copied, not kept
 * @param cipher  of the suite
 * @return 0; -ENOMEM; -EIO libcrypto refused; then, too, to be released
 */
int srtp_transform_init(struct srtp_transform *c,
			const struct srtp_session_key *from,
			const EVP_CIPHER *cipher);

/** Wipe and release. One of zeros is allowed. */
void srtp_transform_release(struct srtp_transform *c);

/** AES in counter mode, in place, the same both ways (RFC 3711 4.1.1).
 * @return 0; -EIO libcrypto refused */
int srtp_transform_counter(struct srtp_transform *c, uint8_t *data,
			   size_t bytes, uint32_t ssrc, uint64_t index);

/** HMAC-SHA1 (RFC 2104) of a packet and a word behind it. */
void srtp_transform_hmac(const struct srtp_transform *c, const uint8_t *data,
			 size_t bytes, uint32_t word,
			 uint8_t tag[static SRTP_HMAC_BYTES]);

/* One AES-GCM operation: what is authenticated only, then the text. */
struct srtp_seal {
	const uint8_t *aad[2];
	size_t aad_bytes[2];
	uint8_t *text;
	size_t bytes; /* without the tag, which stands behind */
	uint8_t iv[SRTP_AEAD_IV_BYTES];
};

/** What is to be sealed or opened of an RTP packet; the pointers are into it.
 * @param bytes  without the tag */
struct srtp_seal srtp_seal_rtp(uint8_t *packet, size_t header, size_t bytes,
			       uint32_t ssrc, uint64_t index);

/** The same of a compound RTCP packet. @param word  E bit and index */
struct srtp_seal srtp_seal_rtcp(uint8_t *packet, size_t bytes,
				const uint8_t word[static SRTCP_INDEX_BYTES]);

/** Encrypt or verify and decrypt, in place; overwrites the text on failure too.
 * @param s  used up. @return 0; -EACCES not authentic; -EIO */
int srtp_seal_run(struct srtp_transform *c, struct srtp_seal *s, bool encrypt);

#endif
