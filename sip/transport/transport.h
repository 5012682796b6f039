/**
 * The transport layer of a user agent: UDP, TCP and TLS on one address and one
 * port (the first byte of a connection tells a TLS hello from SIP). Every
 * message sent or received is traced here, whether it can be decoded or not.
 *
 * libre's own transport is not used: it does not report messages that it
 * cannot decode, ICMP errors, or connections that end under a request; it
 * connects from any address, and has one TLS context for all peers.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRANSPORT_H
#define OFFHOOK_SIP_TRANSPORT_TRANSPORT_H

#include <re.h>

#include "sip/transport/transport_handlers.h"

struct ceilings;
struct conn_watch;
struct deferred_queue;
struct hop;
struct tls_context;
struct transport;

struct transport_params {
	struct sa laddr;   /* port 0: any port that is free for UDP and TCP */
	struct dnsc *dnsc; /* a reference is kept; NULL: no name servers */
	struct transport_handlers handlers;
};

/**
 * Bind UDP and TCP to one port.
 * @param params  copied
 * @return 0; -EADDRINUSE; -ENOMEM; -errno
 */
int transport_new(struct transport **ret,
		  const struct transport_params *params);

/** Accept TLS connections with this context; a reference is kept. */
void transport_accept_tls(struct transport *t, struct tls_context *server_tls);

/**
 * Send a message, or queue it for its connection.
 * @param mb     from pos to end; a queued one is kept by reference
 * @param watch  over TCP and TLS: called when the connection ends; may be NULL
 * @return 0; -errno, and the watch is not called
 */
int transport_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
		   struct conn_watch *watch);

/** Send a datagram that is not SIP, untraced. Errors arrive as ICMP errors. */
void transport_datagram(struct transport *t, const struct sa *dst,
			const uint8_t *data, size_t len);

/** Close all connections without calling their watches. */
void transport_flush(struct transport *t);

/**
 * Datagrams that the kernel dropped as the queue of the UDP socket was full.
 * Source: Linux, SO_MEMINFO: net/core/sock.c sk_get_meminfo()
 * @return 0; -errno: unknown
 */
int transport_receive_drops(const struct transport *t, uint64_t *ret);
/** The bound address, borrowed: that of UDP, TCP and TLS. */
const struct sa *transport_laddr(const struct transport *t);
/** The resolver of its parameters; borrowed, may be NULL. */
struct dnsc *transport_dnsc(const struct transport *t);
/** The ceilings of memory that peers occupy; borrowed. */
struct ceilings *transport_ceilings(struct transport *t);
/** The queue of handlers that run after each message; borrowed. */
struct deferred_queue *transport_deferred(struct transport *t);

/** When the last message was handed to the socket; monotonic, ns. */
int64_t transport_sent_ns(const struct transport *t);
/** When the message that is being handled, else the last one, was received;
 * monotonic, ns. */
int64_t transport_received_ns(const struct transport *t);
/** The time of an event: when the message that is being handled was received, else
 * now; monotonic, ns. */
int64_t transport_event_ns(const struct transport *t);

#endif
