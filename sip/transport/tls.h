/**
 * TLS contexts of SIP connections, on OpenSSL: libre's SIP transport knows one
 * context for all peers, sends no server name and verifies nobody.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TLS_H
#define OFFHOOK_SIP_TRANSPORT_TLS_H

#include <openssl/ssl.h>
#include <re.h>

#include "sip/host.h"

/** What connections with the same files and the same rigour share. */
struct tls_context {
	struct le le;
	char *key;
	SSL_CTX *ctx;
	bool system_authorities; /* still to be read: see tls_session_new() */
};

/**
 * Take the context of these settings from the list, or make it.
 * @param server  for accepted connections: cert_file is needed; verify demands
 *                certificates of the clients
 * @param ret     a reference, the caller's
 * @param reason  size bytes: why a file cannot be used
 * @return 0; -EINVAL with the reason; -ENOMEM
 */
int tls_context_get(struct tls_context **ret, struct list *contexts,
		    const struct sip_tls *params, bool server, char *reason,
		    size_t size);

/**
 * A session on a connected socket. The first one of a context that trusts the
 * system's CA certificates reads them: that takes some 10 ms, which a job without
 * TLS does not spend.
 * @param name    host to ask for and to verify; NULL: accepted connection
 * @param alert   where the last alert of the peer is noted, static text
 * @return NULL: out of memory
 */
SSL *tls_session_new(struct tls_context *context, int fd, const char *name,
		     const char **alert);

/** Why the handshake or the connection failed, for people. */
void tls_failure(const SSL *ssl, const char *alert, char *dst, size_t size);

#endif
