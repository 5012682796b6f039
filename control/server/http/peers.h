/**
 * Connections and whom they come from: how many an address has, and an end to
 * those that do not get on with their request's headers (or, kept alive, have
 * none). A body has a time of its own (http.c).
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
	const struct netlist *exempt; /* from per_address; kept */
};

/** Start watching, in a thread of its own. @return 0; -ENOMEM; -errno */
int peers_new(struct peers **ret, const struct peers_params *params);
/** All connections must be gone. Accepts NULL. @return NULL */
struct peers *peers_free(struct peers *p);

/** May an address have one more connection? */
bool peers_admit(struct peers *p, const struct sockaddr *address);

/**
 * A connection began.
 * @param fd  shut down when it is too slow; must be open until peers_remove()
 * @return NULL: out of memory, it is not watched
 */
struct peer *peers_add(struct peers *p, const struct sockaddr *address, int fd);
/** It ends. Accepts NULL. */
void peers_remove(struct peers *p, struct peer *peer);

/** The headers of a request are there. Accepts NULL. */
void peers_busy(struct peers *p, struct peer *peer);
/** The request was answered: the next one may come. Accepts NULL. */
void peers_idle(struct peers *p, struct peer *peer);

#endif
