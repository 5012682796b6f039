/**
 * What the files of a connection share: conn.c (what it sends and receives, its
 * end) and conn_open.c (connecting, accepting, finding one).
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
	CONN_SNIFFING, /* accepted; TLS or not is seen by the first byte */
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
	unsigned tx_crlf; /* keep-alives of them */
	struct mbuf *rx;  /* NULL: nothing waits to be taken */
	size_t rx_kept;   /* of CEILING_STREAM_IN */
	size_t rx_need;   /* bytes before another look is worth it */
	int64_t rx_ns;    /* its last bytes came */
	struct list watches;
	struct mono_timer tmr;
	struct mono_timer tmr_pong;
	struct mono_timer tmr_more;
	int broken; /* errno of a send that failed; told from a timer */
};

/* ---- conn.c ---- */

/** The end of it, told to those who watch. err positive. */
void conn_close(struct conn *conn, int err, const char *why);
/** The same, where OpenSSL knows why. */
void conn_tls_close(struct conn *conn);
/** Out of the table and off the socket, telling nobody. */
void conn_release(struct conn *conn);
/**
 * A new one, in the table with its reference; the caller's is borrowed.
 * @param fd  its socket, which is the connection's then
 * @return NULL: there are CONNS_MAX, or no memory; fd is the caller's
 */
struct conn *conn_make(struct transport *t, int fd, enum sip_transp tp,
		       const struct sa *paddr);
/** Bytes went or came: it is not idle. */
void conn_busy(struct conn *conn);
/** FD_READ, FD_WRITE. @return 0; -errno */
int conn_events_want(struct conn *conn, int flags);
/** Send what waits. */
void conn_flush(struct conn *conn);
/** Send a keep-alive. */
void conn_crlf_send(struct conn *conn, const char *text);

/** Read what is there, and hand the messages in it on. */
void conn_read(struct conn *conn);

/* ---- conn_open.c ---- */

/** The fd handler of every connection. */
void conn_event_handler(int flags, void *arg);
/** Connect. @param ret  borrowed, its table has the reference
 * @return 0; -ENOTCONN no TLS is to be spoken; -ENOBUFS; -errno */
int conn_open(struct conn **ret, struct transport *t, const struct hop *hop);

#endif
