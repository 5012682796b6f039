/**
 * Where callbacks may go: the controller must not be made to talk to what only
 * it can reach (server-side request forgery).
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_CALLBACK_ADDRESS_H
#define OFFHOOK_SERVER_CALLBACK_ADDRESS_H

#include "base/netlist.h"

#include <stdbool.h>

#define CALLBACK_REASON_BYTES 160

/**
 * May a callback connect to an address? Refused is what is not globally
 * reachable (IANA special-purpose registries, RFC 6890), IPv4 within IPv6 too.
 * @param allow  networks that are well all the same
 */
bool callback_address_allowed(const struct sockaddr *address,
			      const struct netlist *allow);

/**
 * Check the form of a URL: http or https, a host, no user, no fragment; a host
 * that is an address must be allowed.
 * @param reason  filled on -EINVAL: "must ..."
 * @return 0; -EINVAL
 */
int callback_url_check(const char *url, const struct netlist *allow,
		       char reason[static CALLBACK_REASON_BYTES]);

#endif
