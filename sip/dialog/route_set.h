/**
 * Route sets: of a dialog (RFC 3261 12.1), and of the registrar (RFC 3608).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_ROUTE_SET_H
#define OFFHOOK_SIP_DIALOG_ROUTE_SET_H

#include <re.h>

/**
 * Make Route lines of all headers of one kind in a message.
 * @param ret_lines  in/out: the lines, the caller's; what was there is released;
 *                   NULL: the message has no such header
 * @param ret_first  in/out: the URI of the first one, likewise
 * @param id         Record-Route or Service-Route
 * @param forward    in the order of the message; else reversed
 * @return 0; -EBADMSG; -ENOMEM: nothing is changed
 */
int route_set_read(char **ret_lines, char **ret_first,
		   const struct sip_msg *msg, enum sip_hdrid id, bool forward);

/**
 * The request URI of requests to a strict router (RFC 3261 12.2.1.1): its URI without
 * what a request URI may not have (19.1.1, table 1).
 * @param ret    in/out: what was there is released; NULL: the router is a loose one,
 *               as its URI has lr, or the URI is malformed
 * @param first  the URI of the first router, or NULL
 * @return 0; -ENOMEM: nothing is changed
 */
int route_set_strict_uri(char **ret, const char *first);
/** The Route lines behind the first one; borrowed. */
const char *route_set_rest(const char *lines);

#endif
