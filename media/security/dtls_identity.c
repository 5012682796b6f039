#include "media/security/dtls_internal.h"

#include "base/str.h"
#include "media/socket.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#define CERT_DAYS 30
#define CURVE     "P-256"

/* ---- the BIO that OpenSSL writes to: each call is a datagram ---- */

static int bio_write(BIO *bio, const char *data, int bytes)
{
	const struct dtls_output *output = BIO_get_data(bio);

	if (bytes > 0)
		output->send((const uint8_t *)data, (size_t)bytes, output->arg);
	return bytes;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int bio_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

/* ---- key pair and certificate ---- */

/* Accept any certificate: peer_check() of dtls.c compares its fingerprint. */
static int verify_later(int ok, X509_STORE_CTX *store)
{
	(void)ok;
	(void)store;
	return 1;
}

static int name_set(X509 *cert)
{
	X509_NAME *name = X509_get_subject_name(cert);

	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
					  (const unsigned char *)"offhook", -1,
					  -1, 0) == 1 &&
	       X509_set_issuer_name(cert, name) == 1;
}

static int certificate_make(X509 **ret, EVP_PKEY *key)
{
	X509 *cert = X509_new();
	uint32_t serial;

	if (!cert)
		return -ENOMEM;
	random_bytes(&serial, sizeof(serial));
	if (X509_set_version(cert, X509_VERSION_3) != 1 ||
	    ASN1_INTEGER_set(X509_get_serialNumber(cert),
			     (long)(serial >> 1)) != 1 ||
	    !X509_gmtime_adj(X509_getm_notBefore(cert), -24L * 3600) ||
	    !X509_gmtime_adj(X509_getm_notAfter(cert),
			     CERT_DAYS * 24L * 3600) ||
	    X509_set_pubkey(cert, key) != 1 || !name_set(cert) ||
	    X509_sign(cert, key, EVP_sha256()) == 0) {
		X509_free(cert);
		return -EIO;
	}
	*ret = cert;
	return 0;
}

int dtls_fingerprint(struct media_fingerprint *ret, const X509 *cert,
		     const char *hash)
{
	const EVP_MD *md = EVP_get_digestbyname(hash);
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned count = 0;

	if (!md || X509_digest(cert, md, bytes, &count) != 1 ||
	    count > sizeof(ret->bytes))
		return -EIO;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->bytes, bytes, count);
	ret->len = count;
	return str_copy(ret->hash, sizeof(ret->hash), hash);
}

static int context_fill(SSL_CTX *context, EVP_PKEY *key, X509 *cert)
{
	SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET |
					     SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(context,
			   SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			   verify_later);
	SSL_CTX_set_read_ahead(context, 1);
	if (SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) != 1 ||
	    SSL_CTX_use_certificate(context, cert) != 1 ||
	    SSL_CTX_use_PrivateKey(context, key) != 1)
		return -EIO;
	return 0;
}

int dtls_identity_new(struct dtls_identity **ret)
{
	struct dtls_identity *id = calloc(1, sizeof(*id));
	EVP_PKEY *key = NULL;
	X509 *cert = NULL;
	int err = -EIO;

	if (!id)
		return -ENOMEM;
	key = EVP_EC_gen(CURVE);
	id->context = SSL_CTX_new(DTLS_method());
	id->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
				  "datagrams");
	if (!key || !id->context || !id->method ||
	    BIO_meth_set_write(id->method, bio_write) != 1 ||
	    BIO_meth_set_ctrl(id->method, bio_ctrl) != 1 ||
	    BIO_meth_set_create(id->method, bio_create) != 1)
		goto out;
	err = certificate_make(&cert, key);
	if (!err)
		err = context_fill(id->context, key, cert);
	if (!err)
		err = dtls_fingerprint(&id->fingerprint, cert, "sha-256");
out:
	EVP_PKEY_free(key);
	X509_free(cert);
	if (err) {
		ERR_clear_error();
		dtls_identity_free(id);
		return err;
	}
	*ret = id;
	return 0;
}

struct dtls_identity *dtls_identity_free(struct dtls_identity *id)
{
	if (!id)
		return NULL;
	SSL_CTX_free(id->context);
	BIO_meth_free(id->method);
	free(id);
	return NULL;
}

const struct media_fingerprint *dtls_identity_fingerprint(
	const struct dtls_identity *id)
{
	return &id->fingerprint;
}
