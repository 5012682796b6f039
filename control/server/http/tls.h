/**
 * The certificate of the HTTP server and its private key, replaceable while it serves.
 */
#ifndef OFFHOOK_SERVER_HTTP_TLS_H
#define OFFHOOK_SERVER_HTTP_TLS_H

#include "base/certificate.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

struct tls;

/**
 * Read the files. There is one at a time, as tls_retrieve() has no argument for it.
 * Thread: main
 * @param certificate_file  PEM: ours, then the chain; copied
 * @param key_file          PEM, not readable by others; copied
 * @return 0; -EINVAL not PEM, or the key of another certificate; -EPERM all users may
 *         read the key; -EFBIG; -ENOMEM; -errno; the reason is in the log
 */
int tls_new(struct tls **ret, const char *certificate_file,
	    const char *key_file);

/**
 * Read the same files again. Handshakes from now on use them; connections go on.
 * Thread: main; other threads may call tls_retrieve() at the same time
 * @return as tls_new(); on failure the former certificate stays in use
 */
int tls_reload(struct tls *tls);

/** Copy what is known of the certificate. Thread: any */
void tls_facts(struct tls *tls, struct certificate_facts *ret);

/**
 * Copy the fingerprint by which clients know the certificate that is served.
 * Thread: any, while the HTTP server runs
 * @return false: plain HTTP, or an authority has signed the certificate: clients
 *         verify it, and the next one may have another key (ret is untouched)
 */
bool tls_served_key_pin(char ret[static KEY_PIN_BYTES]);

/** Release; the key is wiped. After the HTTP server has stopped. @return NULL */
struct tls *tls_free(struct tls *tls);

/**
 * Return the certificate and the key for a TLS handshake. GnuTLS calls it (type
 * gnutls_certificate_retrieve_function3, set by MHD_OPTION_HTTPS_CERT_CALLBACK2).
 * Thread: any
 */
int tls_retrieve(gnutls_session_t session,
		 const struct gnutls_cert_retr_st *info,
		 gnutls_pcert_st **ret_certificates, unsigned *ret_count,
		 gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_count,
		 gnutls_privkey_t *ret_key, unsigned *ret_flags);

#endif
