/**
 * Shared by the two files of a DTLS handshake.
 *
 * dtls.c           one handshake
 * dtls_identity.c  key pair, certificate, OpenSSL's context and BIO
 */
#ifndef OFFHOOK_MEDIA_SECURITY_DTLS_INTERNAL_H
#define OFFHOOK_MEDIA_SECURITY_DTLS_INTERNAL_H

#include "media/security/dtls.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

struct dtls_identity {
	SSL_CTX *context;
	struct media_fingerprint fingerprint;
	BIO_METHOD *method; /* BIO_get_data() is a struct dtls_output */
};

/* Where OpenSSL's datagrams go. */
struct dtls_output {
	dtls_send_h *send;
	void *arg;
};

/** Fingerprint of a certificate, RFC 8122 section 5.
 * @param hash  name of the hash in SDP, "sha-256"
 * @return 0; -EIO OpenSSL has no such hash; as str_copy() */
int dtls_fingerprint(struct media_fingerprint *ret, const X509 *cert,
		     const char *hash);

#endif
