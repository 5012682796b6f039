/**
 * The transaction user (RFC 3261 section 5): what client transactions need to know
 * of the sender of a request. Embedded in its owner.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSACTION_TRANSACTION_USER_H
#define OFFHOOK_SIP_TRANSACTION_TRANSACTION_USER_H

struct header_list;
struct tls_context;
struct transaction_layer;

struct transaction_user {
	struct transaction_layer *layer;
	void *owner; /* libre object that holds this struct: each transaction
		      * keeps a reference to it */
	struct header_list *headers; /* custom ones of its requests */
	struct tls_context *tls;     /* of its connections; never NULL */
	char *tls_name; /* host name in the certificate; NULL: the host's */
};

#endif
