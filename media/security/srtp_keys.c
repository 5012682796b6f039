#include "media/security/srtp_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <errno.h>
#include <string.h>
#include <strings.h>

#define AES_BLOCK_BYTES 16
#define LABEL_AT        7 /* byte of the input: RFC 3711 4.3.1 */

#define SUITE(name, key, salt, tag, rtcp_tag) \
	[MEDIA_SRTP_##name] = {#name, key, salt, tag, rtcp_tag, (salt) == 12},
static const struct srtp_suite_info suites[MEDIA_SRTP_SUITE_COUNT] = {
	MEDIA_SRTP_SUITES(SUITE)};
#undef SUITE

const struct srtp_suite_info *srtp_suite_info(enum media_srtp_suite suite)
{
	return (unsigned)suite < MEDIA_SRTP_SUITE_COUNT ? &suites[suite] : NULL;
}

const char *media_srtp_suite_name(enum media_srtp_suite suite)
{
	const struct srtp_suite_info *info = srtp_suite_info(suite);

	return info ? info->name : NULL;
}

int media_srtp_suite_by_name(enum media_srtp_suite *ret, const char *name)
{
	for (unsigned i = 0; i < MEDIA_SRTP_SUITE_COUNT; i++) {
		if (strcasecmp(suites[i].name, name) == 0) {
			*ret = (enum media_srtp_suite)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* The pseudo-random function is AES in counter mode: RFC 3711 4.3.3. */
static int derive(uint8_t *dst, size_t bytes, EVP_CIPHER_CTX *master,
		  const uint8_t salt[static SRTP_SALT_BYTES], uint8_t label)
{
	uint8_t iv[AES_BLOCK_BYTES] = {0};
	int len;

	memcpy(iv, salt, SRTP_SALT_BYTES);
	iv[LABEL_AT] ^= label;
	memset(dst, 0, bytes);
	if (EVP_EncryptInit_ex(master, NULL, NULL, NULL, iv) != 1 ||
	    EVP_EncryptUpdate(master, dst, &len, dst, (int)bytes) != 1)
		return -EIO;
	return 0;
}

/* @param label  that of the cipher key; those of the authentication key and the
 *                salt follow (RFC 3711 4.3.2) */
static int derive_all(struct srtp_session_key *ret,
		      const struct srtp_suite_info *suite,
		      EVP_CIPHER_CTX *master,
		      const uint8_t salt[static SRTP_SALT_BYTES], uint8_t label)
{
	int err = derive(ret->cipher, suite->key_bytes, master, salt, label);

	if (!err)
		err = derive(ret->auth, sizeof(ret->auth), master, salt,
			     (uint8_t)(label + 1));
	if (!err)
		err = derive(ret->salt, suite->salt_bytes, master, salt,
			     (uint8_t)(label + 2));
	return err;
}

int srtp_keys_derive(struct srtp_session_keys *ret,
		     const struct media_crypto *crypto)
{
	const struct srtp_suite_info *suite = srtp_suite_info(crypto->suite);
	/* RFC 7714 11: a salt of 96 bits is padded with zeros */
	uint8_t salt[SRTP_SALT_BYTES] = {0};
	EVP_CIPHER_CTX *master;
	int err = 0;

	memset(ret, 0, sizeof(*ret));
	if (!suite)
		return -EINVAL;
	master = EVP_CIPHER_CTX_new();
	if (!master)
		return -ENOMEM;
	memcpy(salt, crypto->key + suite->key_bytes, suite->salt_bytes);
	if (EVP_EncryptInit_ex(master,
			       suite->key_bytes == 16 ? EVP_aes_128_ctr()
						      : EVP_aes_256_ctr(),
			       NULL, crypto->key, NULL) != 1)
		err = -EIO;
	if (!err)
		err = derive_all(&ret->rtp, suite, master, salt, 0);
	if (!err)
		err = derive_all(&ret->rtcp, suite, master, salt, 3);
	EVP_CIPHER_CTX_free(master);
	OPENSSL_cleanse(salt, sizeof(salt));
	if (err)
		OPENSSL_cleanse(ret, sizeof(*ret));
	return err;
}
