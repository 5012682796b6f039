/**
 * The certificate and key files of the HTTP server.
 * Thread: main, at the start.
 */
#ifndef OFFHOOK_SERVER_HTTP_TLS_H
#define OFFHOOK_SERVER_HTTP_TLS_H

struct tls {
	char *certificate; /* PEM text: ours, then the CA chain */
	char *key;         /* PEM text, secret; both NULL: no TLS */
};

/**
 * Read both files.
 * @return 0; -EINVAL not PEM; -EPERM all users may read the key; -EFBIG;
 *         -ENOMEM; -errno; the reason is in the log
 */
int tls_load(struct tls *ret, const char *certificate_file,
	     const char *key_file);
/** Release; the key is wiped. */
void tls_release(struct tls *tls);

#endif
