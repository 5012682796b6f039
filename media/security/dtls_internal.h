/**
 * What the files of a DTLS handshake share.
 *
 * dtls.c           one handshake
 * dtls_identity.c  key pair and certificate, and what OpenSSL is told with them
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
	BIO_METHOD *method; /* its data: a struct dtls_output */
};

/* Where what OpenSSL writes goes. */
struct dtls_output {
	dtls_send_h *send;
	void *arg;
};

/** Of a certificate, RFC 8122 section 5.
 * @param hash  its name in SDP @return 0; -EIO; as str_copy() */
int dtls_fingerprint(struct media_fingerprint *ret, const X509 *cert,
		     const char *hash);

#endif
