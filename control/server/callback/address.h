/**
 * Addresses that callbacks may connect to. A callback must not reach hosts that
 * only the controller can reach (server-side request forgery).
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_CALLBACK_ADDRESS_H
#define OFFHOOK_SERVER_CALLBACK_ADDRESS_H

#include "base/netlist.h"

#include <stdbool.h>

#define CALLBACK_REASON_BYTES 160

/**
 * True if a callback may connect to an address. Addresses that are not globally
 * reachable (IANA special-purpose registries, RFC 6890) are refused, also IPv4
 * embedded in IPv6.
 * @param allow  networks that are allowed nevertheless
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
