/**
 * Whom a request is for, as people write it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_PEER_H
#define OFFHOOK_SIP_DIALOG_PEER_H

struct sip_account;

/**
 * "sip:1002@example.net" of "1002", "1002@example.net" or a URI.
 * @param ret      the caller's
 * @param account  its domain completes a user part
 * @return 0; -EINVAL; -ENOMEM
 */
int peer_uri(char **ret, const struct sip_account *account, const char *uri);

#endif
