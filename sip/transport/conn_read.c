#include "sip/transport/conn_internal.h"

#include <errno.h>
#include <string.h>

#include "sip/transport/ceiling.h"
#include "sip/transport/frame.h"
#include "sip/transport/trace.h"
#include "sip/transport/transport.h"

#define READ_BYTES   16384
#define READS_A_TURN 8 /* others have their turn, too */
#define PONGS_A_READ 4 /* one answers all pings that came together */

/* The first bytes of what was read and is not taken yet. */
static struct arrival arrival_of(struct conn *conn, size_t len)
{
	return (struct arrival){
		.mono_ns = conn->rx_ns,
		.tp = conn->tp,
		.src = &conn->paddr,
		.dst = &conn->laddr,
		.conn = conn,
		.data = mbuf_buf(conn->rx),
		.len = len,
	};
}

void conn_rest_trace(struct conn *conn)
{
	if (conn->rx && mbuf_get_left(conn->rx) > 0) {
		const struct arrival rest =
			arrival_of(conn, mbuf_get_left(conn->rx));

		trace_received(conn->t->ua, &rest);
	}
	conn->rx = mem_deref(conn->rx);
	ceiling_give(conn->t->ua, CEILING_STREAM_IN, conn->rx_kept);
	conn->rx_kept = 0;
}

/* What was read and is not taken: a part of a message. */
static void rest_account(struct conn *conn)
{
	size_t kept = conn->rx ? conn->rx->size : 0;

	if (conn->state == CONN_CLOSED)
		return; /* given back */
	ceiling_give(conn->t->ua, CEILING_STREAM_IN, conn->rx_kept);
	conn->rx_kept = 0;
	if (ceiling_take(conn->t->ua, CEILING_STREAM_IN, kept))
		conn->rx_kept = kept;
	else
		conn_close(conn, ENOBUFS,
			   "parts of messages keep all the memory they may");
}

/* CRLF between messages: two are a ping, one is a pong (RFC 5626 4.4.1).
 * @return bytes taken */
static size_t crlf_take(struct conn *conn, unsigned *pongs)
{
	const uint8_t *p = mbuf_buf(conn->rx);
	size_t len = mbuf_get_left(conn->rx);

	if (len >= 4 && memcmp(p, "\r\n\r\n", 4) == 0) {
		if ((*pongs)++ < PONGS_A_READ)
			conn_crlf_send(conn, "\r\n");
		return 4;
	}
	if (len >= 2 && memcmp(p, "\r\n", 2) == 0) {
		/* One byte of a second CRLF may be on its way. */
		if (len == 3 && p[2] == '\r')
			return 0;
		mono_timer_cancel(&conn->tmr_pong);
		return 2;
	}
	return 0;
}

/* One message. @return false: it is not whole, or was the end */
static bool frame_take(struct conn *conn)
{
	size_t left = mbuf_get_left(conn->rx);
	struct arrival arrival;
	size_t len;
	int err;

	if (left < conn->rx_need || (*mbuf_buf(conn->rx) == '\r' && left < 4))
		return false;
	conn->rx_need = 0;
	err = frame_find(mbuf_buf(conn->rx), left, &len);
	if (err == -EAGAIN) {
		conn->rx_need = len;
		return false;
	}
	if (err) {
		conn_close(conn, EBADMSG,
			   err == -EMSGSIZE
				   ? "a message of more than 64 kB came"
				   : "a message without a usable "
				     "Content-Length came");
		return false;
	}
	arrival = arrival_of(conn, len);
	transport_received(conn->t, &arrival);
	if (conn->rx)
		mbuf_advance(conn->rx, (ssize_t)len);
	return conn->rx != NULL;
}

static void frames_take(struct conn *conn)
{
	unsigned pongs = 0;
	size_t left;

	while (conn->state == CONN_UP && mbuf_get_left(conn->rx) > 0) {
		size_t len = crlf_take(conn, &pongs);

		if (len > 0)
			mbuf_advance(conn->rx, (ssize_t)len);
		else if (!frame_take(conn))
			break;
	}
	if (!conn->rx)
		return;
	left = mbuf_get_left(conn->rx);
	memmove(conn->rx->buf, mbuf_buf(conn->rx), left);
	conn->rx->pos = 0;
	conn->rx->end = left;
	/* Most connections are idle most of the time. */
	if (left == 0)
		conn->rx = mem_deref(conn->rx);
}

static void more_handler(void *arg)
{
	struct conn *conn = arg;

	mem_ref(conn);
	conn_read(conn);
	mem_deref(conn);
}

static void bytes_take(struct conn *conn)
{
	for (int i = 0; conn->state == CONN_UP && !conn->broken; i++) {
		ssize_t n;

		if (i == READS_A_TURN) {
			/* What OpenSSL holds makes no event. */
			mono_timer_start(&conn->tmr_more, 0, more_handler,
					 conn);
			return;
		}
		if (!conn->rx)
			conn->rx = mbuf_alloc(READ_BYTES);
		if (!conn->rx ||
		    (conn->rx->size - conn->rx->end < READ_BYTES &&
		     mbuf_resize(conn->rx, conn->rx->end + READ_BYTES))) {
			conn_close(conn, ENOMEM, "out of memory");
			return;
		}
		n = conn_bytes_read(conn, conn->rx->buf + conn->rx->end,
				    READ_BYTES);
		if (n == -EAGAIN || n == -EINTR) {
			if (conn->rx->end == 0)
				conn->rx = mem_deref(conn->rx);
			return;
		}
		if (n == -EPROTO && conn->ssl) {
			conn_tls_close(conn);
			return;
		}
		if (n <= 0) {
			conn_close(conn, n ? (int)-n : ECONNRESET,
				   n ? strerror((int)-n)
				     : "the peer closed it");
			return;
		}
		conn->rx->end += (size_t)n;
		conn_busy(conn);
		frames_take(conn);
	}
}

void conn_read(struct conn *conn)
{
	bytes_take(conn);
	rest_account(conn);
}
