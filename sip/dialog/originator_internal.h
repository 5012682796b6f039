/**
 * What an originator holds; for the files of sip/dialog.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_DIALOG_ORIGINATOR_INTERNAL_H
#define OFFHOOK_SIP_DIALOG_ORIGINATOR_INTERNAL_H

#include <re.h>

#include "sip/transaction/transaction_user.h"
#include "sip/transport/resolve.h"

struct originator {
	struct transaction_user transactions;
	char *user;         /* escaped for a URI */
	char *aor;          /* sip:user@domain */
	char *from;         /* name-addr of From, without tag */
	char *domain;       /* host[:port] */
	char *contact_user; /* user part of Contact */

	/* where requests outside of dialogs go */
	char *next_hop; /* URI that leads to `hosts`; NULL: to the request URI */
	struct resolve_host hosts[HOSTS_MAX]; /* in order; names owned */
	size_t host_count;
	char *target_text;    /* "127.0.0.1:5060 over UDP", for reasons */
	char *outbound_proxy; /* URI with ;lr, or NULL */

	/* credentials */
	char *auth_username;
	char *password; /* NULL: none; wiped on release */

	/* from the registrar's 2xx */
	bool outbound;        /* it keeps the flow (RFC 5626) */
	char *service_routes; /* Route lines (RFC 3608), or NULL */
	char *service_route;  /* URI of the first, or NULL */
	/* whose registration its requests use; NULL: its own */
	const struct originator *registered;
};

/** Whose registration its requests use: another one's, or its own. */
const struct originator *originator_registration(
	const struct originator *origin);

#endif
