/**
 * The URI of a called party, of what a user entered.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_PEER_H
#define OFFHOOK_SIP_DIALOG_PEER_H

struct originator;

/**
 * "sip:1002@example.net" of "1002", "1002@example.net" or a URI.
 * @param ret     the caller's
 * @param origin  its domain completes a user part
 * @return 0; -EINVAL; -ENOMEM
 */
int peer_uri(char **ret, const struct originator *origin, const char *uri);

#endif
