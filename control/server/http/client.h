/**
 * Who sends a request and how he calls us: of the connection, or of a proxy in
 * front that we trust. The http layer's own.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_CLIENT_H
#define OFFHOOK_SERVER_HTTP_CLIENT_H

#include "base/netlist.h"

#include <stdbool.h>

#define CLIENT_ADDRESS_BYTES 64
#define CLIENT_URL_BYTES     320

struct client {
	char address[CLIENT_ADDRESS_BYTES]; /* without a port */
	char base_url[CLIENT_URL_BYTES];    /* as he sees us */
	bool secure; /* he speaks TLS, to us or the proxy */
};

/** What is known of a request; texts may be NULL but for peer and ours. */
struct client_facts {
	const char *peer; /* address of the connection */
	bool tls;         /* of the connection */
	const char *host; /* headers */
	const char *forwarded_for;
	const char *forwarded_proto;
	const char *public_url; /* configured */
	const char *ours;       /* where we listen, as a URL */
};

/**
 * Forwarded headers count only from a trusted peer: the address is the last
 * of X-Forwarded-For that is no trusted one itself, as whoever wrote it was
 * trusted.
 */
void client_find(struct client *ret, const struct client_facts *facts,
		 const struct netlist *trusted);

#endif
