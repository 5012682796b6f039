/**
 * Digest authentication as a client: answers challenges (RFC 7616, RFC 3261 22).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_DIGEST_H
#define OFFHOOK_SIP_MESSAGE_DIGEST_H

#include <re.h>

struct digest;

/** The request that gets credentials; borrowed during the call. */
struct digest_request_params {
	const char *method;
	const char *uri;
	const void *body; /* auth-int */
	size_t body_len;
};

/**
 * Make a digest context: the challenges seen so far, by realm.
 * @param ret       a libre object, the caller's
 * @param username  copied
 * @param password  copied, wiped on release; NULL: none
 * @return 0; -ENOMEM
 */
int digest_new(struct digest **ret, const char *username, const char *password);
/** Whether a response is 401 or 407. */
bool digest_asked(const struct sip_msg *msg);
/**
 * Read the challenges of a 401 or 407. Several requests may be under way: each has
 * its first challenge of each realm answered, whatever the others got.
 * @param challenges  in/out: how many challenges of this request were answered, a
 *                    byte for each realm; 0 before it is sent for the first time,
 *                    kept when it is repeated with credentials
 * @return 0: repeat the request with credentials; -EACCES the credentials were
 *         refused; -ENOKEY there is no password; -EPROTONOSUPPORT no known
 *         algorithm; -EBADMSG; -ENOMEM
 */
int digest_challenge(struct digest *digest, uint32_t *challenges,
		     const struct sip_msg *msg);
/** Append (Proxy-)Authorization lines for the challenges seen.
 * @return 0; -ENOMEM; -errno */
int digest_write(struct mbuf *mb, struct digest *digest,
		 const struct digest_request_params *request);
/** Write the reason why digest_challenge() failed, for a report.
 * @param err  its result */
void digest_reason(char *dst, size_t size, int err, const struct sip_msg *msg);

#endif
