/**
 * Credentials for challenges (RFC 7616, RFC 3261 22).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_DIGEST_H
#define OFFHOOK_SIP_MESSAGE_DIGEST_H

#include <re.h>

struct digest;

/** The request that the credentials are for; borrowed during the call. */
struct digest_request_params {
	const char *method;
	const char *uri;
	const void *body; /* auth-int */
	size_t body_len;
};

int digest_new(struct digest **ret, const char *username, const char *password);
/** A transaction begins: its first challenge is answered in any case. */
void digest_begin(struct digest *digest);
/** A response asks for credentials: 401 or 407. */
bool digest_asked(const struct sip_msg *msg);
/**
 * Take the challenges of a 401 or 407.
 * @return 0: send again; -EACCES credentials were refused; -ENOKEY there is
 *         no password; -EPROTONOSUPPORT no algorithm we know; -EBADMSG; -ENOMEM
 */
int digest_challenge(struct digest *digest, const struct sip_msg *msg);
/** Append (Proxy-)Authorization for the challenges seen. */
int digest_write(struct mbuf *mb, struct digest *digest,
		 const struct digest_request_params *request);
/** What to report when digest_challenge() said no. */
void digest_reason(char *dst, size_t size, int err, const struct sip_msg *msg);

#endif
