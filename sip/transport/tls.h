/**
 * TLS contexts of SIP connections, on OpenSSL: libre's SIP transport has one context
 * for all peers, sends no server name and verifies no certificate.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TLS_H
#define OFFHOOK_SIP_TRANSPORT_TLS_H

#include <openssl/ssl.h>
#include <re.h>

#include "sip/host.h"

/** Shared by connections with the same files and the same verification. */
struct tls_context {
	struct le le;
	char *key;
	SSL_CTX *ctx;
	bool system_authorities; /* not read yet: see tls_session_new() */
};

/**
 * Find the context with these settings in the list, or make it.
 * @param server  for accepted connections: cert_file is required, and verify
 *                requires a certificate of the client
 * @param ret     a reference, the caller's
 * @param reason  of size bytes: why a file cannot be used
 * @return 0; -EINVAL with the reason; -ENOMEM
 */
int tls_context_get(struct tls_context **ret, struct list *contexts,
		    const struct sip_tls *params, bool server, char *reason,
		    size_t size);

/**
 * Make a session on a connected socket. The first session of a context that trusts
 * the system's authorities reads them, which takes about 10 ms.
 * @param name    host for SNI and verification; NULL: accepted connection
 * @param alert   set to the last alert of the peer, static text
 * @return NULL: out of memory
 */
SSL *tls_session_new(struct tls_context *context, int fd, const char *name,
		     const char **alert);

/** Write why the handshake or the connection failed, as a sentence. */
void tls_failure(const SSL *ssl, const char *alert, char *dst, size_t size);

#endif
