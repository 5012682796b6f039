/**
 * The sockets of a user agent: UDP, TCP and TLS on one address and one port (a
 * TLS hello is told from SIP by its first byte). Everything sent and received
 * is traced here, whether it can be decoded or not.
 *
 * libre's own transport is not used: it tells of nothing it cannot decode, of
 * no ICMP error and of no connection that ends under a request, connects from
 * any address, and speaks TLS with one context for all.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRANSPORT_H
#define OFFHOOK_SIP_TRANSPORT_TRANSPORT_H

#include <re.h>

#include "sip/mono_timer.h"

struct sip_ua;
struct conn;
struct tls_context;

/* Connections of a user agent at a time, both ways. */
#define CONNS_MAX 16384

struct transport {
	struct sip_ua *ua;
	struct sa laddr;
	int udp_fd;
	int tcp_fd;
	int spare_fd; /* given up to refuse a connection when none is left */
	struct tls_context *server_tls; /* NULL: no TLS is accepted */
	struct hash *conns;             /* by the peer's address */
	uint32_t conn_count;
	uint8_t *rx; /* one datagram */

	/* ICMP errors that were read while something was sent */
	struct list errors;
	struct mono_timer tmr_errors;
};

/** Where a message goes. */
struct hop {
	enum sip_transp tp;
	struct sa addr;
	struct conn *conn;       /* preferred while it lives; may be NULL */
	struct tls_context *tls; /* of a new connection; NULL: none is made */
	const char *name;        /* host to verify; NULL: the address */
};

/** Told once that a connection is gone, unless it is unlinked before. */
struct conn_watch {
	struct le le;
	/* err positive; reason: a sentence, or NULL for ECONNREFUSED */
	void (*closed_h)(int err, const char *reason, void *arg);
	void *arg;
};

/**
 * Bind UDP and TCP to one port.
 * @return 0; -EADDRINUSE; -ENOMEM; -errno
 */
int transport_new(struct transport **ret, struct sip_ua *ua,
		  const struct sa *laddr);

/**
 * Send a message, or queue it for its connection.
 * @param mb     from pos to end; a queued one is kept by reference
 * @param watch  of a stream: is told when the connection ends; may be NULL
 * @return 0; -errno, and the watch is not told
 */
int transport_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
		   struct conn_watch *watch);

/** Send what is no SIP, over UDP. */
void transport_datagram(struct transport *t, const struct sa *dst,
			const uint8_t *data, size_t len);

/** What came. */
struct arrival {
	int64_t mono_ns; /* the kernel's time; of a stream see base/stamp.h */
	enum sip_transp tp;
	const struct sa *src;
	const struct sa *dst;
	struct conn *conn; /* NULL: UDP */
	const uint8_t *data;
	size_t len;
};

/** A whole message came: trace it, decode it and give it to the user agent. */
void transport_received(struct transport *t, const struct arrival *arrival);

/** Close all connections, telling nobody. */
void transport_flush(struct transport *t);

#endif
