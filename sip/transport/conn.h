/**
 * TCP and TLS connections (RFC 3261 18; keep-alive: RFC 5626 4.4.1).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_CONN_H
#define OFFHOOK_SIP_TRANSPORT_CONN_H

#include <re.h>

struct conn;
struct conn_watch;
struct hop;
struct transport;

/** fd handler of the listener: accept connections. @param arg  the transport */
void conn_accept_handler(int flags, void *arg);

/** transport_send() for TCP and TLS: use an existing connection, or open one. */
int conn_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
	      struct conn_watch *watch);

/**
 * Find an established connection to a hop.
 * @return borrowed, or NULL
 */
struct conn *conn_find(const struct transport *t, const struct hop *hop);

/** Call the watch when the connection ends. */
void conn_watch(struct conn *conn, struct conn_watch *watch);

/** Close all connections without calling their watches. */
void conn_close_all(struct transport *t);

/** Send a ping, two CRLF (RFC 5626 4.4.1); without a pong within 10 s the connection
 * is closed. */
void conn_ping(struct conn *conn);

#endif
