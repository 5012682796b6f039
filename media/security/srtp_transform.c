/* OpenSSL 3 deprecates these functions of SHA-1; their replacements cannot copy
 * the state without allocating. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "media/security/srtp_transform.h"

#include "base/big_endian.h"

#include <openssl/crypto.h>

#include <errno.h>
#include <string.h>

#define AES_BLOCK_BYTES 16
#define SHA_BLOCK_BYTES 64 /* RFC 2104 */

static void hmac_init(struct srtp_transform *c, const uint8_t *key)
{
	uint8_t pad[SHA_BLOCK_BYTES];

	memset(pad, 0x36, sizeof(pad));
	for (int i = 0; i < SRTP_AUTH_KEY_BYTES; i++)
		pad[i] ^= key[i];
	SHA1_Init(&c->inner);
	SHA1_Update(&c->inner, pad, sizeof(pad));
	memset(pad, 0x5c, sizeof(pad));
	for (int i = 0; i < SRTP_AUTH_KEY_BYTES; i++)
		pad[i] ^= key[i];
	SHA1_Init(&c->outer);
	SHA1_Update(&c->outer, pad, sizeof(pad));
	OPENSSL_cleanse(pad, sizeof(pad));
}

int srtp_transform_init(struct srtp_transform *c,
			const struct srtp_session_key *from,
			const EVP_CIPHER *cipher)
{
	c->cipher = EVP_CIPHER_CTX_new();
	if (!c->cipher)
		return -ENOMEM;
	if (EVP_EncryptInit_ex(c->cipher, cipher, NULL, from->cipher, NULL) !=
	    1)
		return -EIO;
	memcpy(c->salt, from->salt, sizeof(c->salt));
	hmac_init(c, from->auth);
	return 0;
}

void srtp_transform_release(struct srtp_transform *c)
{
	EVP_CIPHER_CTX_free(c->cipher); /* it wipes what it holds */
	OPENSSL_cleanse(c, sizeof(*c));
}

int srtp_transform_counter(struct srtp_transform *c, uint8_t *data,
			   size_t bytes, uint32_t ssrc, uint64_t index)
{
	uint8_t iv[AES_BLOCK_BYTES] = {0};
	int len;

	be32_put(iv + 4, ssrc);
	for (int i = 0; i < 6; i++)
		iv[8 + i] = (uint8_t)(index >> (40 - 8 * i));
	for (int i = 0; i < SRTP_SALT_BYTES; i++)
		iv[i] ^= c->salt[i];
	if (EVP_EncryptInit_ex(c->cipher, NULL, NULL, NULL, iv) != 1 ||
	    EVP_EncryptUpdate(c->cipher, data, &len, data, (int)bytes) != 1)
		return -EIO;
	return 0;
}

void srtp_transform_hmac(const struct srtp_transform *c, const uint8_t *data,
			 size_t bytes, uint32_t word,
			 uint8_t tag[static SRTP_HMAC_BYTES])
{
	SHA_CTX sha = c->inner;
	uint8_t behind[4];

	be32_put(behind, word);
	SHA1_Update(&sha, data, bytes);
	SHA1_Update(&sha, behind, sizeof(behind));
	SHA1_Final(tag, &sha);
	sha = c->outer;
	SHA1_Update(&sha, tag, SRTP_HMAC_BYTES);
	SHA1_Final(tag, &sha);
}

int srtp_seal_run(struct srtp_transform *c, struct srtp_seal *s, bool encrypt)
{
	EVP_CIPHER_CTX *evp = c->cipher;
	uint8_t *tag = s->text + s->bytes;
	int len;

	for (int i = 0; i < SRTP_AEAD_IV_BYTES; i++)
		s->iv[i] ^= c->salt[i];
	if (EVP_CipherInit_ex(evp, NULL, NULL, NULL, s->iv, encrypt) != 1)
		return -EIO;
	if (!encrypt && EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_SET_TAG,
					    SRTP_AEAD_TAG_BYTES, tag) != 1)
		return -EIO;
	for (int i = 0; i < 2; i++) {
		if (s->aad_bytes[i] &&
		    EVP_CipherUpdate(evp, NULL, &len, s->aad[i],
				     (int)s->aad_bytes[i]) != 1)
			return -EIO;
	}
	if (s->bytes &&
	    EVP_CipherUpdate(evp, s->text, &len, s->text, (int)s->bytes) != 1)
		return -EIO;
	if (EVP_CipherFinal_ex(evp, s->text + s->bytes, &len) != 1)
		return encrypt ? -EIO : -EACCES;
	if (encrypt && EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_GET_TAG,
					   SRTP_AEAD_TAG_BYTES, tag) != 1)
		return -EIO;
	return 0;
}

struct srtp_seal srtp_seal_rtp(uint8_t *packet, size_t header, size_t bytes,
			       uint32_t ssrc, uint64_t index)
{
	struct srtp_seal s = {
		.aad = {packet},
		.aad_bytes = {header},
		.text = packet + header,
		.bytes = bytes - header,
	};

	be32_put(s.iv + 2, ssrc); /* RFC 7714 8.1 */
	be32_put(s.iv + 6, (uint32_t)(index >> 16));
	s.iv[10] = (uint8_t)(index >> 8);
	s.iv[11] = (uint8_t)index;
	return s;
}

struct srtp_seal srtp_seal_rtcp(uint8_t *packet, size_t bytes,
				const uint8_t word[static SRTCP_INDEX_BYTES])
{
	struct srtp_seal s = {
		.aad = {packet, word},
		.aad_bytes = {SRTCP_HEADER_BYTES, SRTCP_INDEX_BYTES},
		.text = packet + SRTCP_HEADER_BYTES,
		.bytes = bytes - SRTCP_HEADER_BYTES,
	};

	memcpy(s.iv + 2, packet + 4, 4); /* RFC 7714 9.1 */
	be32_put(s.iv + 8, be32(word) & SRTCP_INDEX_MAX);
	return s;
}
