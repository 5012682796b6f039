/**
 * The transport, for the files of this folder: transport.c (its life, UDP),
 * conn*.c (streams), receive.c and trace.c.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_TRANSPORT_INTERNAL_H
#define OFFHOOK_SIP_TRANSPORT_TRANSPORT_INTERNAL_H

#include <re.h>

#include "sip/mono_timer.h"
#include "sip/transport/ceiling.h"
#include "sip/transport/deferred.h"
#include "sip/transport/transport_handlers.h"

struct conn;
struct tls_context;

/* Connections of a user agent at a time, both ways. */
#define CONNS_MAX 16384

struct transport {
	/* constant after transport_new() and transport_accept_tls() */
	struct transport_handlers handlers;
	struct sa laddr;
	struct dnsc *dnsc;              /* NULL: no name servers */
	struct tls_context *server_tls; /* NULL: TLS is not accepted */

	/* sockets */
	int udp_fd;
	int tcp_fd;
	int spare_fd;       /* freed to refuse a connection when none is left */
	uint8_t *rx;        /* one datagram */
	struct hash *conns; /* by the peer's address */
	uint32_t conn_count;

	/* ICMP errors that were read during a send */
	struct list errors;
	struct mono_timer tmr_errors;

	struct ceilings ceilings;
	struct deferred_queue deferred;
	int64_t sent_ns;     /* when the last message was sent */
	int64_t received_ns; /* when the present or last message was received */
};

/** A received message or datagram. */
struct arrival {
	int64_t mono_ns; /* kernel's receive time; of streams see base/stamp.h */
	enum sip_transp tp;
	const struct sa *src;
	const struct sa *dst;
	struct conn *conn; /* NULL: UDP */
	const uint8_t *data;
	size_t len;
};

#endif
