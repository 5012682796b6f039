/**
 * Checks the credentials of requests to an account (RFC 3261 22).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_DIGEST_SERVER_INTERNAL_H
#define OFFHOOK_SIP_UA_DIGEST_SERVER_INTERNAL_H

#include <re.h>

struct sip_account;

/**
 * Check the credentials of a request, if the account asks for them.
 * @return false: the request was challenged
 */
bool digest_server_request(struct sip_account *account,
			   const struct sip_msg *msg);

#endif
