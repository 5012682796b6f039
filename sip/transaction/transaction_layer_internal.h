/**
 * The transaction layer, for the files of this folder.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_TRANSACTION_LAYER_INTERNAL_H
#define OFFHOOK_SIP_TRANSACTION_TRANSACTION_LAYER_INTERNAL_H

#include <re.h>

#include "sip/message/text.h"
#include "sip/transaction/transaction_layer.h"

struct transaction_layer {
	/* constant after transaction_layer_new() */
	struct transport *transport;
	char *software;
	char sent_by[INET6_ADDRSTRLEN + 9]; /* host:port of our Via */

	/* client_transaction.c */
	struct hash *clients;  /* by branch */
	struct hash *calling;  /* over UDP without a response, by address */
	struct list resolving; /* waiting for addresses */
	bool closing;          /* refuse further requests */
	char failure[REASON_BYTES]; /* why the last request got no response */

	/* server_transaction.c */
	struct hash *servers; /* by branch */
	struct hash *merges;  /* the same, by Call-ID (RFC 3261 8.2.2.2) */
};

#endif
