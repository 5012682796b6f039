/**
 * A called party that asks who is there: challenges (401, 407) and checks of
 * digest credentials (RFC 3261 22, RFC 7616, RFC 8760).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIGEST_SERVER_H
#define OFFHOOK_SIP_DIGEST_SERVER_H

#include "sip/account.h"
#include "sip/message/digest_hash.h"

#define SIP_USERS_MAX 10000

struct sip_user {
	const char *username;
	const char *password;
};

enum sip_verdict {
	SIP_VERIFIED, /* a request was let through */
	SIP_REFUSED,  /* it had credentials, and they are wrong */
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
	uint32_t nonce_uses; /* requests that a nonce is good for; 0: any */
	uint32_t stale;      /* so many right answers are called stale first */
	const char *realm;   /* NULL: the domain of each account */
	const struct sip_user *users; /* copied; wiped on release */
	size_t user_count;
	sip_verify_h *handler; /* must not release the account; may be NULL */
	void *arg;
};

struct sip_digest_server;

/** For any number of accounts. @return 0; -EINVAL; -ENOMEM */
int sip_digest_server_new(struct sip_digest_server **ret,
			  const struct sip_digest_server_params *params);
/** Accounts that use it keep it in memory. @return NULL */
struct sip_digest_server *sip_digest_server_free(
	struct sip_digest_server *verifier);

/**
 * Challenge who calls the account from now on: every request to it outside of
 * calls but OPTIONS, with `all` also what comes within its calls; never ACK
 * and CANCEL (RFC 3261 22.1). A nonce lives 300 s; one that is too old, used
 * up, unknown, or whose count does not grow is answered stale=true if the
 * response itself is right.
 * @param verifier  NULL: nobody is challenged any more
 * @return 0; -EOPNOTSUPP the account's user agent is not the native one
 */
int sip_account_verify(struct sip_account *account,
		       struct sip_digest_server *verifier);

#endif
