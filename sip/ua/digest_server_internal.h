/**
 * Credentials of others, as the files of sip/ ask for them.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UA_DIGEST_SERVER_INTERNAL_H
#define OFFHOOK_SIP_UA_DIGEST_SERVER_INTERNAL_H

#include <re.h>

struct sip_account;

/**
 * Has this request the credentials that the account asks for?
 * @return false: it was answered
 */
bool digest_server_request(struct sip_account *account,
			   const struct sip_msg *msg);

#endif
