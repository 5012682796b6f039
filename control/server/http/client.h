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

/** Facts about a request and the configuration. Only peer, local and ours are
 * never NULL. */
struct client_facts {
	const char *peer; /* address of the connection */
	bool tls;         /* of the connection */
	const char *host; /* headers */
	const char *forwarded_for;
	const char *forwarded_proto;
	const char *public_url; /* configured */
	const char *names;      /* configured: valid Host names, separated by
				 * blanks or commas; or NULL */
	const char *local;      /* our address of the connection, no port */
	const char *ours;       /* URL of that address and its port */
};

/**
 * Find the client's address and our URL.
 * Forwarded header fields count only if the peer is a trusted proxy. The
 * client's address is then the last one of X-Forwarded-For that is not itself a
 * trusted proxy.
 * base_url is public_url if configured. Else it is made of the Host, if that is
 * a configured name, localhost, a loopback address or the connection's local
 * address; else it is `ours`. Other Hosts are not used: anybody can send any
 * Host, and links made of it would lead other users there.
 */
void client_find(struct client *ret, const struct client_facts *facts,
		 const struct netlist *trusted);

#endif
