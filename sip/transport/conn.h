/**
 * TCP and TLS connections (RFC 3261 18, RFC 5626 4.4.1 for their keep-alive).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_CONN_H
#define OFFHOOK_SIP_TRANSPORT_CONN_H

#include <re.h>

struct conn;
struct conn_watch;
struct hop;
struct transport;

/** The listener's fd handler; arg is the transport. */
void conn_accept_handler(int flags, void *arg);

/** transport_send() for TCP and TLS: finds the connection, or opens one. */
int conn_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
	      struct conn_watch *watch);

/**
 * The connection that leads there, if one is up.
 * @return borrowed, or NULL
 */
struct conn *conn_find(const struct transport *t, const struct hop *hop);

/** Be told when it ends. */
void conn_watch(struct conn *conn, struct conn_watch *watch);

/** Close all connections without telling their watches. */
void conn_close_all(struct transport *t);

/** A CRLF pair (RFC 5626 4.4.1): without a pong in 10 s it is closed. */
void conn_ping(struct conn *conn);

#endif
