/**
 * The certificate of the controller: the operator's, or one of its own, which is made
 * at the first start.
 * Thread: main.
 */
#ifndef OFFHOOK_SERVER_CERTIFICATE_H
#define OFFHOOK_SERVER_CERTIFICATE_H

struct backup_options;
struct controller_conf;
struct tls;

/**
 * Read the certificate, and log its fingerprint; make the controller's own one if
 * there is none in state_dir. It is never replaced, not even when it has expired.
 * @param conf  with TLS
 * @return 0; -EINVAL; -EPERM; -EFBIG; -ENOMEM; -errno; the reason is in the log
 */
int certificate_begin(struct tls **ret, const struct controller_conf *conf);

/** Read the certificate again, as certificate_begin(). On failure the former one stays
 * in use. */
int certificate_reload(struct tls *tls, const struct controller_conf *conf);

/** `offhook-controller fingerprint`: print the fingerprint of the certificate.
 * @return 0; negative, logged */
int fingerprint_command(const struct controller_conf *conf,
			const struct backup_options *o);

#endif
