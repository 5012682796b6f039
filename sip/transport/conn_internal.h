/**
 * A connection, for conn.c (sending, receiving, its end) and conn_open.c
 * (connecting, accepting, finding one).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_TRANSPORT_CONN_INTERNAL_H
#define OFFHOOK_SIP_TRANSPORT_CONN_INTERNAL_H

#include <re.h>

#include "sip/mono_timer.h"
#include "sip/transport/conn.h"
#include "sip/transport/hop.h"
#include "sip/transport/tls.h"
#include "sip/transport/transport_internal.h"

enum conn_state {
	CONN_SNIFFING, /* accepted; the first byte tells TLS from SIP */
	CONN_CONNECTING,
	CONN_HANDSHAKE,
	CONN_UP,
	CONN_CLOSED,
};

struct conn {
	struct le he;
	struct transport *t;
	int fd;
	enum conn_state state;
	enum sip_transp tp;
	struct sa laddr;
	struct sa paddr;
	struct tls_context *tls; /* NULL: TCP */
	char *name;              /* NULL: accepted */
	SSL *ssl;
	const char *alert; /* the peer's last one, static */
	struct list tx;
	size_t tx_bytes;
	size_t tx_kept;   /* of CEILING_STREAM_OUT */
	unsigned tx_crlf; /* keep-alives in tx */
	struct mbuf *rx;  /* incomplete message; NULL: none */
	size_t rx_kept;   /* of CEILING_STREAM_IN */
	size_t rx_need;   /* bytes until frame_find() is tried again */
	int64_t rx_ns;    /* when its last bytes came */
	struct list watches;
	struct mono_timer tmr;
	struct mono_timer tmr_pong;
	struct mono_timer tmr_more;
	int broken; /* errno of a failed send; reported from a timer */
};

/* ---- conn.c ---- */

/** Close it and call its watches. @param err  positive @param why  a sentence */
void conn_close(struct conn *conn, int err, const char *why);
/** Close it with the reason that OpenSSL gives. */
void conn_tls_close(struct conn *conn);
/** Remove it from the table and close its socket; watches are not called. */
void conn_release(struct conn *conn);
/**
 * Make a connection and add it to the table, which has the reference.
 * @param fd  its socket, taken over on success
 * @return borrowed; NULL: there are CONNS_MAX, or no memory
 */
struct conn *conn_make(struct transport *t, int fd, enum sip_transp tp,
		       const struct sa *paddr);
/** Bytes were sent or received: restart the idle timer. */
void conn_busy(struct conn *conn);
/** Set the events to wait for. @param flags  FD_READ, FD_WRITE @return 0; -errno */
int conn_events_want(struct conn *conn, int flags);
/** Send queued messages. */
void conn_flush(struct conn *conn);

/** Read what has arrived, and handle the complete messages in it. */
void conn_read(struct conn *conn);

/* ---- conn_open.c ---- */

/** The fd handler of every connection. */
void conn_event_handler(int flags, void *arg);
/** Connect to a hop. @param ret  borrowed, the table has the reference
 * @return 0; -ENOTCONN the hop has no TLS context; -ENOBUFS; -errno */
int conn_open(struct conn **ret, struct transport *t, const struct hop *hop);

#endif
