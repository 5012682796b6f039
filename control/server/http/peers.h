/**
 * Limits the number of connections per address, and the time a client may take
 * to send the header fields of a request, including the next one of a
 * persistent connection. http.c limits the time for a body.
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_HTTP_PEERS_H
#define OFFHOOK_SERVER_HTTP_PEERS_H

#include "base/netlist.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct peers;
struct peer; /* one connection */

struct peers_params {
	unsigned per_address;         /* connections; 0: no limit */
	int64_t header_ns;            /* TLS handshake included */
	const struct netlist *exempt; /* from per_address; by reference */
};

/** Start the thread that closes slow connections. @return 0; -ENOMEM; -errno */
int peers_new(struct peers **ret, const struct peers_params *params);
/** Release; no connection may be left. Accepts NULL. @return NULL */
struct peers *peers_free(struct peers *p);

/** True if an address may have one more connection. */
bool peers_admit(struct peers *p, const struct sockaddr *address);

/**
 * Add a connection.
 * @param fd  shut down if the client is too slow; must stay open until
 *            peers_remove()
 * @return NULL: out of memory, the connection is not watched
 */
struct peer *peers_add(struct peers *p, const struct sockaddr *address, int fd);
/** Remove a connection. Accepts NULL. */
void peers_remove(struct peers *p, struct peer *peer);

/** The header fields of a request are complete: stop their time limit. Accepts
 * NULL. */
void peers_busy(struct peers *p, struct peer *peer);
/** The request was answered: start the time limit of the next header fields.
 * Accepts NULL. */
void peers_idle(struct peers *p, struct peer *peer);

#endif
