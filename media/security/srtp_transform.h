/**
 * The built-in transforms of SRTP and SRTCP, over libcrypto: AES in counter mode
 * with HMAC-SHA1, and AES-GCM. Nothing here allocates after
 * srtp_transform_init(). (srtp_cipher_* are names of libsrtp2.)
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
#define SRTCP_HEADER_BYTES  8 /* not encrypted: up to the SSRC */
#define SRTCP_INDEX_BYTES   4
#define SRTCP_INDEX_MAX     0x7fffffffu
#define SRTP_HMAC_BYTES     SHA_DIGEST_LENGTH /* before truncation */

/* Session keys of RTP or of RTCP (RFC 3711 4.3). */
struct srtp_transform {
	EVP_CIPHER_CTX *cipher;
	uint8_t salt[SRTP_SALT_BYTES];
	SHA_CTX inner; /* HMAC: SHA-1 state after the padded key */
	SHA_CTX outer;
	size_t tag_bytes;
};

/**
 * @param from    copied, not kept
 * @param cipher  of the suite
 * @return 0; -ENOMEM; -EIO libcrypto refused; srtp_transform_release() is due
 *         after a failure too
 */
int srtp_transform_init(struct srtp_transform *c,
			const struct srtp_session_key *from,
			const EVP_CIPHER *cipher);

/** Wipe and release. A zeroed struct is allowed. */
void srtp_transform_release(struct srtp_transform *c);

/** Encrypt or decrypt in place: AES in counter mode (RFC 3711 4.1.1).
 * @return 0; -EIO libcrypto refused */
int srtp_transform_counter(struct srtp_transform *c, uint8_t *data,
			   size_t bytes, uint32_t ssrc, uint64_t index);

/** HMAC-SHA1 (RFC 2104) of a packet followed by a word in network byte order:
 * the roll-over counter, or E bit and SRTCP index. */
void srtp_transform_hmac(const struct srtp_transform *c, const uint8_t *data,
			 size_t bytes, uint32_t word,
			 uint8_t tag[static SRTP_HMAC_BYTES]);

/* One AES-GCM operation: associated data, then the text. */
struct srtp_seal {
	const uint8_t *aad[2];
	size_t aad_bytes[2];
	uint8_t *text;
	size_t bytes; /* of the text; the tag follows it */
	uint8_t iv[SRTP_AEAD_IV_BYTES];
};

/** Prepare an RTP packet for srtp_seal_run(); the pointers are into it.
 * @param bytes  without the tag */
struct srtp_seal srtp_seal_rtp(uint8_t *packet, size_t header, size_t bytes,
			       uint32_t ssrc, uint64_t index);

/** The same for a compound RTCP packet. @param word  E bit and index */
struct srtp_seal srtp_seal_rtcp(uint8_t *packet, size_t bytes,
				const uint8_t word[static SRTCP_INDEX_BYTES]);

/** Encrypt, or verify and decrypt, in place; overwrites the text on failure too.
 * @param s  for one call: the IV is changed
 * @return 0; -EACCES not authentic; -EIO libcrypto refused */
int srtp_seal_run(struct srtp_transform *c, struct srtp_seal *s, bool encrypt);

#endif
