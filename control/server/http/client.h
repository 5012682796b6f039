/**
 * The client's address and our URL as the client sees it: from the connection,
 * or from the header fields of a trusted proxy. The http layer's own.
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
	char base_url[CLIENT_URL_BYTES];    /* as the client sees us */
	bool secure; /* the client speaks TLS, to us or to the proxy */
};

/** What is known of a request. Only peer, local and ours are never NULL. */
struct client_facts {
	const char *peer; /* address of the connection */
	bool tls;         /* of the connection */
	const char *host; /* headers */
	const char *forwarded_for;
	const char *forwarded_proto;
	const char *public_url; /* configured */
	const char *names;      /* configured: those a client may call us by,
				 * with blanks or commas between; or NULL */
	const char *local;      /* address the connection came to, no port */
	const char *ours;       /* the same as a URL */
};

/**
 * Forwarded headers count only from a trusted peer: the address is the last
 * of X-Forwarded-For that is no trusted one itself, as whoever wrote it was
 * trusted. base_url is public_url; without it made of the Host, if that is a
 * configured name, localhost, a loopback address or the one the connection
 * came to; else it is ours. Anybody can send any Host, and links with it would
 * lead others there.
 */
void client_find(struct client *ret, const struct client_facts *facts,
		 const struct netlist *trusted);

#endif
