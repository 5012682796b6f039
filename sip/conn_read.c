#include <errno.h>
#include <string.h>

#include "sip/conn_parts.h"
#include "sip/frame.h"

#define READ_BYTES 16384

/* The first bytes of what was read. */
static struct arrival arrival_of(struct conn *conn, size_t len)
{
	return (struct arrival){
		.mono_ns = conn->rx_ns,
		.tp = conn->tp,
		.src = &conn->paddr,
		.dst = &conn->laddr,
		.conn = conn,
		.data = conn->rx->buf,
		.len = len,
	};
}

void conn_rest_trace(struct conn *conn)
{
	if (conn->rx && conn->rx->end > 0) {
		const struct arrival rest = arrival_of(conn, conn->rx->end);

		trace_received(conn->t->ua, &rest);
	}
	conn->rx = mem_deref(conn->rx);
}

/* CRLF between messages: two are a ping, one is a pong (RFC 5626 4.4.1).
 * @return bytes taken */
static size_t crlf_take(struct conn *conn)
{
	const uint8_t *p = conn->rx->buf;
	size_t len = conn->rx->end;

	if (len >= 4 && memcmp(p, "\r\n\r\n", 4) == 0) {
		conn_crlf_send(conn, "\r\n");
		return 4;
	}
	if (len >= 2 && memcmp(p, "\r\n", 2) == 0) {
		/* One byte of a second CRLF may be on its way. */
		if (len == 3 && p[2] == '\r')
			return 0;
		tmr_cancel(&conn->tmr_pong);
		return 2;
	}
	return 0;
}

static void rx_drop(struct conn *conn, size_t len)
{
	memmove(conn->rx->buf, conn->rx->buf + len, conn->rx->end - len);
	conn->rx->end -= len;
	conn->rx->pos = 0;
}

static void frames_take(struct conn *conn)
{
	while (conn->state == CONN_UP && conn->rx->end > 0) {
		size_t len = crlf_take(conn);
		struct arrival arrival;
		int err;

		if (len > 0) {
			rx_drop(conn, len);
			continue;
		}
		if (conn->rx->buf[0] == '\r' && conn->rx->end < 4)
			return;
		err = frame_find(conn->rx->buf, conn->rx->end, &len);
		if (err == -EAGAIN)
			return;
		if (err) {
			conn_close(conn, EBADMSG,
				   err == -EMSGSIZE
					   ? "a message of more than 64 kB came"
					   : "a message without Content-Length "
					     "came");
			return;
		}
		arrival = arrival_of(conn, len);
		transport_received(conn->t, &arrival);
		if (conn->rx)
			rx_drop(conn, len);
	}
}

void conn_read(struct conn *conn)
{
	while (conn->state == CONN_UP && !conn->broken) {
		ssize_t n;

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
		if (n == -EAGAIN || n == -EINTR)
			return;
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
