#include "sip/message/digest_hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "sip/error.h"
#include "sip/message/digest.h"

_Static_assert(DIGEST_HEX_BYTES > 2 * 32, "SHA-512-256 in hex");

const char *digest_algorithm_name(enum digest_algorithm algorithm)
{
	static const char *const names[] = {
		[DIGEST_MD5] = "MD5",
		[DIGEST_SHA256] = "SHA-256",
		[DIGEST_SHA512_256] = "SHA-512-256",
	};

	return names[algorithm];
}

static const EVP_MD *function_of(enum digest_algorithm algorithm)
{
	switch (algorithm) {
	case DIGEST_SHA256:
		return EVP_sha256();
	case DIGEST_SHA512_256:
		return EVP_sha512_256();
	case DIGEST_MD5:
	default:
		return EVP_md5();
	}
}

static int bytes_hex(char hex[static DIGEST_HEX_BYTES],
		     enum digest_algorithm algorithm, const void *data,
		     size_t size)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (!EVP_Digest(data, size, md, &len, function_of(algorithm), NULL))
		return -EPROTONOSUPPORT; /* MD5 is off in FIPS mode */
	for (unsigned i = 0; i < len; i++) {
		hex[2 * i] = digits[md[i] >> 4];
		hex[2 * i + 1] = digits[md[i] & 15];
	}
	hex[2 * len] = '\0';
	return 0;
}

static int hash_hex(char hex[static DIGEST_HEX_BYTES],
		    enum digest_algorithm algorithm, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int err;

	va_start(args, fmt);
	err = neg(re_vsdprintf(&text, fmt, args));
	va_end(args);
	if (err)
		return err;
	err = bytes_hex(hex, algorithm, text, strlen(text));
	explicit_bzero(text, strlen(text));
	mem_deref(text);
	return err;
}

int digest_response(char response[static DIGEST_HEX_BYTES],
		    const struct digest_input *in)
{
	char ha1[DIGEST_HEX_BYTES], ha2[DIGEST_HEX_BYTES];
	char body[DIGEST_HEX_BYTES];
	const struct digest_request_params *request = in->request;
	bool whole = in->qop && strcmp(in->qop, "auth-int") == 0;
	int err;

	err = hash_hex(ha1, in->algorithm, "%s:%s:%s", in->username, in->realm,
		       in->password);
	if (!err && in->sess)
		err = hash_hex(ha1, in->algorithm, "%s:%s:%s", ha1, in->nonce,
			       in->cnonce);
	if (!err && whole)
		err = bytes_hex(body, in->algorithm, request->body,
				request->body_len);
	if (!err)
		err = hash_hex(ha2, in->algorithm, whole ? "%s:%s:%s" : "%s:%s",
			       request->method, request->uri, body);
	if (!err && in->qop)
		err = hash_hex(response, in->algorithm, "%s:%s:%s:%s:%s:%s",
			       ha1, in->nonce, in->nc, in->cnonce, in->qop,
			       ha2);
	else if (!err)
		err = hash_hex(response, in->algorithm, "%s:%s:%s", ha1,
			       in->nonce, ha2);
	explicit_bzero(ha1, sizeof(ha1));
	return err;
}
