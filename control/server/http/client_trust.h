/**
 * The authorities of agents' TLS client certificates (agent_ca_file), replaceable while
 * the server runs, and what is asked of such a certificate. GnuTLS asks every client for
 * one and requires none, so that a refusal is an HTTP response with its reason and
 * browsers need no certificate.
 */
#ifndef OFFHOOK_SERVER_HTTP_CLIENT_TRUST_H
#define OFFHOOK_SERVER_HTTP_CLIENT_TRUST_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

struct client_trust;

/* What a client's certificate lacks. */
enum client_certificate {
	CLIENT_CERTIFICATE_VALID,
	CLIENT_CERTIFICATE_MISSING,
	CLIENT_CERTIFICATE_UNTRUSTED, /* or not for clients */
	CLIENT_CERTIFICATE_EXPIRED,
	CLIENT_CERTIFICATE_EARLY, /* not valid yet */
};

/**
 * Read the authorities.
 * Thread: main
 * @param ca_file  PEM, copied
 * @return 0; -EINVAL no certificate in it; -EFBIG; -ENOMEM; -errno; the reason is in the
 *         log
 */
int client_trust_new(struct client_trust **ret, const char *ca_file);

/**
 * Read the same file again; requests from now on are verified with it, and handshakes
 * name its authorities.
 * Thread: main; other threads may verify at the same time
 * @return as client_trust_new(); on failure the former authorities stay in use
 */
int client_trust_reload(struct client_trust *trust);

/** Release; after the HTTP server has stopped. @return NULL */
struct client_trust *client_trust_free(struct client_trust *trust);

/**
 * Let a handshake ask the client for a certificate and name the authorities of the last
 * reload: GnuTLS clients send none that another one has signed, browsers offer none.
 * Thread: any that has the connection for itself, before its handshake
 * @return 0; -ENOMEM: the client is not asked
 */
int client_trust_ask(struct client_trust *trust, gnutls_session_t session);

/**
 * Verify the certificate of a connection (RFC 5280 section 6; extended key usage
 * clientAuth, where it has one).
 * Thread: any that has the connection for itself
 */
enum client_certificate client_trust_verify(struct client_trust *trust,
					    gnutls_session_t session);

/** Whether the connection's certificate is one of this name: its subject's common name,
 * or a DNS name of its alternative names. Case does not count.
 * Thread: as client_trust_verify() */
bool client_trust_is_named(gnutls_session_t session, const char *name);

/* Lines of the log about refused certificates in a minute. */
#define CLIENT_TRUST_LINES 10

/**
 * Whether a refusal may be logged: whoever reaches the port can provoke one.
 * Thread: any
 * @param now_ns       monotonic
 * @param ret_omitted  refusals since the last line that were not logged
 */
bool client_trust_may_log(struct client_trust *trust, int64_t now_ns,
			  unsigned *ret_omitted);

#endif
