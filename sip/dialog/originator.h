/**
 * Who begins dialogs and sends the requests in them: what the dialogs need of
 * an account. Embedded in the account.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_ORIGINATOR_H
#define OFFHOOK_SIP_DIALOG_ORIGINATOR_H

#include <re.h>

#include "sip/transaction/transaction_user.h"
#include "sip/transport/resolve.h"

struct originator {
	struct transaction_user user;
	char *from;         /* name-addr of From, without tag */
	char *domain;       /* host[:port] */
	char *contact_user; /* user part of Contact */

	/* where requests outside of dialogs go */
	char *next_hop; /* URI that leads to `hosts`; NULL: to the request URI */
	struct resolve_host hosts[HOSTS_MAX]; /* in order; names owned */
	size_t host_count;
	char *outbound_proxy; /* URI with ;lr, or NULL */

	/* from the registrar's 2xx */
	bool outbound;        /* it keeps the flow (RFC 5626) */
	char *service_routes; /* Route lines (RFC 3608), or NULL */
	char *service_route;  /* URI of the first, or NULL */
	/* whose registration its requests go by; NULL: its own */
	const struct originator *registered;
};

/** Whose registration its requests go by: another one's, or its own. */
const struct originator *originator_registration(
	const struct originator *origin);
/** Release what it points to, but for user.layer, user.owner and registered. */
void originator_release(struct originator *origin);

#endif
