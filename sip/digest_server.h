/**
 * Digest authentication as a server: challenges (401, 407) to requests that come
 * for an account, and checks of the credentials (RFC 3261 22, RFC 7616, RFC
 * 8760).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIGEST_SERVER_H
#define OFFHOOK_SIP_DIGEST_SERVER_H

#include "sip/account.h"
#include "sip/digest_algorithm.h"

#define SIP_USERS_MAX 10000

struct sip_user {
	const char *username;
	const char *password;
};

enum sip_verdict {
	SIP_VERIFIED, /* the credentials were right, the request was accepted */
	SIP_REFUSED,  /* the credentials were wrong */
};

struct sip_digest_info {
	int64_t mono_ns;
	const char *method;
	const char *username; /* as claimed */
	const char *reason;   /* SIP_REFUSED: why; else "" */
};

typedef void(sip_verify_h)(struct sip_account *account,
			   enum sip_verdict verdict,
			   const struct sip_digest_info *info, void *arg);

struct sip_digest_server_params {
	uint16_t code;                   /* 401 or 407 */
	enum digest_algorithm algorithm; /* of the challenges, without -sess */
	bool all;                        /* also requests within a call */
	uint32_t nonce_uses; /* requests with the same nonce; 0: any number */
	uint32_t stale;    /* answer so many right responses stale=true first */
	const char *realm; /* NULL: the domain of each account */
	const struct sip_user *users; /* copied; wiped on release */
	size_t user_count;
	sip_verify_h *handler; /* must not release the account; may be NULL */
	void *arg;
};

struct sip_digest_server;

/** May serve any number of accounts. @param ret  the caller's
 * @return 0; -EINVAL; -ENOMEM */
int sip_digest_server_new(struct sip_digest_server **ret,
			  const struct sip_digest_server_params *params);
/** Release the caller's reference; accounts that use it hold their own.
 * @return NULL */
struct sip_digest_server *sip_digest_server_free(
	struct sip_digest_server *verifier);

/**
 * Challenge requests to the account from now on: every request outside of calls
 * except OPTIONS, with `all` also requests within its calls; never ACK and
 * CANCEL (RFC 3261 22.1). A nonce lives 300 s. A right response with a nonce
 * that is expired, used up or unknown, or with a nonce count that did not grow,
 * is answered stale=true.
 * @param verifier  NULL: stop challenging
 * @return 0; -EOPNOTSUPP the account's user agent is not the native one
 */
int sip_account_verify(struct sip_account *account,
		       struct sip_digest_server *verifier);

#endif
