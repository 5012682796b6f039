/**
 * Where a message is sent, and a watch for the end of its connection.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_HOP_H
#define OFFHOOK_SIP_TRANSPORT_HOP_H

#include <re.h>

struct conn;
struct tls_context;

/** Address, transport and, for streams, connection of the next hop. */
struct hop {
	enum sip_transp tp;
	struct sa addr;
	struct conn *conn;       /* to be used if it is up; may be NULL */
	struct tls_context *tls; /* for a new TLS connection; NULL: make none */
	const char *name; /* host name in the certificate; NULL: the address */
};

/** Notified once when a connection ends, unless it is unlinked before. */
struct conn_watch {
	struct le le;
	/* err positive; reason: a sentence, or NULL for ECONNREFUSED */
	void (*closed_h)(int err, const char *reason, void *arg);
	void *arg;
};

#endif
