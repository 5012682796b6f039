#include "sip/transport/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "sip/error.h"
#include "sip/message/text.h"
#include "sip/transport/conn_internal.h"
#include "sip/transport/frame.h"
#include "sip/transport/receive.h"
#include "sip/transport/tls.h"
#include "sip/transport/trace.h"

#define OPEN_MS         10000        /* connect and handshake */
#define IDLE_MS         (900 * 1000) /* nothing sent or received */
#define PONG_MS         10000        /* RFC 5626 4.4.1 */
#define QUEUE_BYTES_MAX (1024 * 1024)
#define QUEUE_CRLF_MAX  4 /* waiting keep-alives; no more are queued */
#define READ_BYTES      16384
#define READS_A_TURN    8 /* then the other connections have their turn */
#define PONGS_A_READ    4 /* further pings of the same read get none */

struct tx_item {
	struct le le;
	struct mbuf *mb;
	size_t pos;
	size_t start;
	bool traced;
	bool message; /* false: a keep-alive, which is not traced */
};

static void item_destructor(void *arg)
{
	struct tx_item *item = arg;

	list_unlink(&item->le);
	mem_deref(item->mb);
}

static void rest_trace(struct conn *conn);

/* ---- bytes, over TCP or TLS ---- */

static ssize_t bytes_write(struct conn *conn, const uint8_t *p, size_t len)
{
	ssize_t n;
	int err;

	if (!conn->ssl) {
		n = send(conn->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	ERR_clear_error();
	n = SSL_write(conn->ssl, p, (int)len);
	if (n > 0)
		return n;
	err = SSL_get_error(conn->ssl, (int)n);
	return err == SSL_ERROR_WANT_READ || err == SSL_ERROR_WANT_WRITE
		       ? -EAGAIN
		       : -EPROTO;
}

/* recv(), and the kernel's time of what was read. */
static ssize_t stamped_recv(struct conn *conn, void *p, size_t size, int flags)
{
	union {
		char bytes[STAMP_SPACE];
		struct cmsghdr align;
	} control;
	struct iovec iov = {p, size};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct stamp_clock clock;
	ssize_t n = recvmsg(conn->fd, &msg, flags | MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	stamp_clock_read(&clock);
	conn->rx_ns = stamp_find(&msg, &clock);
	return n;
}

static ssize_t bytes_read(struct conn *conn, uint8_t *p, size_t size)
{
	uint8_t next;
	ssize_t n;

	if (!conn->ssl)
		return stamped_recv(conn, p, size, 0);
	/* OpenSSL reads the socket itself. If it has bytes buffered they came
	 * with the ones before, and have their time. Else peek at the socket
	 * for the time of the bytes that OpenSSL reads next. */
	if (SSL_pending(conn->ssl) == 0 &&
	    stamped_recv(conn, &next, 1, MSG_PEEK) == -EAGAIN &&
	    !SSL_has_pending(conn->ssl))
		return -EAGAIN;
	ERR_clear_error();
	n = SSL_read(conn->ssl, p, (int)size);
	if (n > 0)
		return n;
	switch (SSL_get_error(conn->ssl, (int)n)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		return -EPROTO;
	}
}

/* ---- the end of a connection ---- */

void conn_release(struct conn *conn)
{
	conn->state = CONN_CLOSED;
	mono_timer_cancel(&conn->tmr);
	mono_timer_cancel(&conn->tmr_pong);
	mono_timer_cancel(&conn->tmr_more);
	if (conn->he.list) {
		hash_unlink(&conn->he);
		conn->t->conn_count--;
	}
	if (conn->ssl) {
		(void)SSL_shutdown(conn->ssl);
		ERR_clear_error();
		SSL_free(conn->ssl);
		conn->ssl = NULL;
	}
	if (conn->fd >= 0) {
		fd_close(conn->fd);
		close(conn->fd);
		conn->fd = -1;
	}
	list_flush(&conn->tx);
	if (conn->tx_kept > 0) /* if 0 the transport may be released */
		ceiling_give(&conn->t->ceilings, CEILING_STREAM_OUT,
			     conn->tx_kept);
	conn->tx_kept = 0;
	conn->tx_bytes = 0;
	conn->tx_crlf = 0;
}

static void conn_destructor(void *arg)
{
	struct conn *conn = arg;

	conn_release(conn);
	list_clear(&conn->watches);
	mem_deref(conn->tls);
	mem_deref(conn->name);
	mem_deref(conn->rx);
}

static void watches_tell(struct conn *conn, int err, const char *reason)
{
	struct le *le;

	while ((le = list_head(&conn->watches))) {
		struct conn_watch *watch = le->data;

		list_unlink(le);
		watch->closed_h(err, reason, watch->arg);
	}
}

void conn_close(struct conn *conn, int err, const char *why)
{
	const char *what = conn->tp == SIP_TRANSP_TLS ? "TLS" : "TCP";
	const char *stage = conn->state == CONN_CONNECTING  ? "connect"
			    : conn->state == CONN_HANDSHAKE ? "handshake"
							    : "connection";
	char reason[REASON_BYTES];

	if (conn->state == CONN_CLOSED)
		return;
	(void)re_snprintf(reason, sizeof(reason), "%s %s %s %J %s: %s", what,
			  stage, conn->state == CONN_CONNECTING ? "to" : "with",
			  &conn->paddr,
			  conn->state == CONN_UP ? "ended" : "failed", why);
	rest_trace(conn);
	conn_release(conn);
	watches_tell(conn, err, err == ECONNREFUSED ? NULL : reason);
	mem_deref(conn); /* the table's reference */
}

void conn_tls_close(struct conn *conn)
{
	char why[REASON_BYTES];

	tls_failure(conn->ssl, conn->alert, why, sizeof(why));
	conn_close(conn, EPROTO, why);
}

static void open_timeout(void *arg)
{
	conn_close(arg, ETIMEDOUT, "no answer within 10 s");
}

static void idle_timeout(void *arg)
{
	conn_close(arg, ETIMEDOUT, "it was idle");
}

void conn_busy(struct conn *conn)
{
	mono_timer_start(&conn->tmr, IDLE_MS, idle_timeout, conn);
}

static void pong_timeout(void *arg)
{
	conn_close(arg, ETIMEDOUT, "a keep-alive was not answered");
}

static void broken_handler(void *arg)
{
	struct conn *conn = arg;

	if (conn->ssl && conn->broken == EPROTO)
		conn_tls_close(conn);
	else
		conn_close(conn, conn->broken, strerror(conn->broken));
}

/* A send failed: call the watches from a timer, not within the send. */
static void conn_break(struct conn *conn, int err)
{
	conn->broken = err;
	mono_timer_start(&conn->tmr, 0, broken_handler, conn);
}

int conn_events_want(struct conn *conn, int flags)
{
	return neg(fd_listen(conn->fd, flags, conn_event_handler, conn));
}

/* Trace a message once, when it is first handed to the socket. */
static void item_trace(struct conn *conn, struct tx_item *item)
{
	if (item->message && !item->traced)
		trace_sent(conn->t, conn->tp, &conn->laddr, &conn->paddr,
			   item->mb->buf + item->start,
			   item->mb->end - item->start);
	item->traced = true;
}

static void items_write(struct conn *conn)
{
	struct tx_item *item;

	while ((item = list_ledata(list_head(&conn->tx)))) {
		ssize_t n;

		item_trace(conn, item);
		n = bytes_write(conn, item->mb->buf + item->pos,
				item->mb->end - item->pos);
		if (n == -EAGAIN) {
			(void)conn_events_want(conn, FD_READ | FD_WRITE);
			return;
		}
		if (n < 0) {
			conn_break(conn, (int)-n);
			return;
		}
		item->pos += (size_t)n;
		conn->tx_bytes -= (size_t)n;
		if (item->pos < item->mb->end)
			continue;
		conn->tx_crlf -= !item->message;
		mem_deref(item);
	}
	(void)conn_events_want(conn, FD_READ);
	conn_busy(conn);
}

/* Count what the peer does not read against its ceiling. */
static void queue_account(struct conn *conn)
{
	ceiling_give(&conn->t->ceilings, CEILING_STREAM_OUT, conn->tx_kept);
	conn->tx_kept = 0;
	if (ceiling_take(&conn->t->ceilings, CEILING_STREAM_OUT,
			 conn->tx_bytes))
		conn->tx_kept = conn->tx_bytes;
	else if (!conn->broken)
		conn_break(conn, ENOBUFS);
}

void conn_flush(struct conn *conn)
{
	items_write(conn);
	queue_account(conn);
}

static int item_add(struct conn *conn, struct mbuf *mb, bool message)
{
	struct tx_item *item;

	if (conn->tx_bytes + mbuf_get_left(mb) > QUEUE_BYTES_MAX ||
	    (!message && conn->tx_crlf >= QUEUE_CRLF_MAX))
		return -ENOBUFS;
	item = mem_zalloc(sizeof(*item), item_destructor);
	if (!item)
		return -ENOMEM;
	item->mb = mem_ref(mb);
	item->start = mb->pos;
	item->pos = mb->pos;
	item->message = message;
	conn->tx_bytes += mbuf_get_left(mb);
	conn->tx_crlf += !message;
	list_append(&conn->tx, &item->le, item);
	if (conn->state == CONN_UP && !conn->broken)
		conn_flush(conn);
	else
		queue_account(conn);
	return 0;
}

/* Queue a keep-alive. @param text  CRLF or two */
static void conn_crlf_send(struct conn *conn, const char *text)
{
	struct mbuf *mb = mbuf_alloc(4);

	if (!mb)
		return;
	if (mbuf_write_str(mb, text) == 0) {
		mb->pos = 0;
		(void)item_add(conn, mb, false);
	}
	mem_deref(mb);
}

void conn_ping(struct conn *conn)
{
	if (conn->state != CONN_UP)
		return;
	/* keep the timer of a pong that is still awaited */
	if (!mono_timer_running(&conn->tmr_pong))
		mono_timer_start(&conn->tmr_pong, PONG_MS, pong_timeout, conn);
	conn_crlf_send(conn, "\r\n\r\n");
}

/* ---- receiving ---- */

/* The first len bytes of the input that was not handled yet. */
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

static void rest_trace(struct conn *conn)
{
	if (conn->rx && mbuf_get_left(conn->rx) > 0) {
		const struct arrival rest =
			arrival_of(conn, mbuf_get_left(conn->rx));

		trace_received(conn->t, &rest);
	}
	conn->rx = mem_deref(conn->rx);
	ceiling_give(&conn->t->ceilings, CEILING_STREAM_IN, conn->rx_kept);
	conn->rx_kept = 0;
}

/* Count the incomplete message against its ceiling. */
static void rest_account(struct conn *conn)
{
	size_t kept = conn->rx ? conn->rx->size : 0;

	if (conn->state == CONN_CLOSED)
		return; /* given back */
	ceiling_give(&conn->t->ceilings, CEILING_STREAM_IN, conn->rx_kept);
	conn->rx_kept = 0;
	if (ceiling_take(&conn->t->ceilings, CEILING_STREAM_IN, kept))
		conn->rx_kept = kept;
	else
		conn_close(conn, ENOBUFS,
			   "parts of messages keep all the memory they may");
}

/* Handle CRLF between messages: two are a ping, one is a pong (RFC 5626 4.4.1).
 * @return bytes handled */
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
		/* the last byte of the second CRLF may follow */
		if (len == 3 && p[2] == '\r')
			return 0;
		mono_timer_cancel(&conn->tmr_pong);
		return 2;
	}
	return 0;
}

/* Handle one message. @return false: it is incomplete, or the connection was
 * closed */
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
	receive_message(conn->t, &arrival);
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
	/* Free the buffer: most connections are idle. */
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
			/* bytes in OpenSSL's buffer cause no fd event */
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
		n = bytes_read(conn, conn->rx->buf + conn->rx->end, READ_BYTES);
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

/* ---- the table of connections ---- */

struct conn *conn_make(struct transport *t, int fd, enum sip_transp tp,
		       const struct sa *paddr)
{
	struct conn *conn;
	int on = 1;

	if (t->conn_count >= CONNS_MAX)
		return NULL;
	conn = mem_zalloc(sizeof(*conn), conn_destructor);
	if (!conn)
		return NULL;
	conn->t = t;
	conn->fd = fd;
	conn->tp = tp;
	conn->paddr = *paddr;
	conn->laddr.len = sizeof(conn->laddr.u);
	(void)getsockname(fd, &conn->laddr.u.sa, &conn->laddr.len);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)stamp_enable(fd); /* else messages have the time of reading */
	conn->rx_ns = clock_mono_ns();
	mono_timer_start(&conn->tmr, OPEN_MS, open_timeout, conn);
	hash_append(t->conns, sa_hash(paddr, SA_ALL), &conn->he, conn);
	t->conn_count++;
	return conn;
}

void conn_watch(struct conn *conn, struct conn_watch *watch)
{
	list_unlink(&watch->le);
	list_append(&conn->watches, &watch->le, watch);
}

int conn_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
	      struct conn_watch *watch)
{
	struct conn *conn = hop->conn;
	int err;

	if (!conn || conn->state == CONN_CLOSED || conn->broken)
		conn = conn_find(t, hop);
	if (!conn) {
		err = conn_open(&conn, t, hop);
		if (err)
			return err;
	}
	err = item_add(conn, mb, true);
	if (!err && watch)
		conn_watch(conn, watch);
	return err;
}

static bool flush_handler(struct le *le, void *arg)
{
	struct conn *conn = le->data;
	(void)arg;

	list_clear(&conn->watches);
	rest_trace(conn);
	conn_release(conn);
	mem_deref(conn);
	return false;
}

void conn_close_all(struct transport *t)
{
	hash_apply(t->conns, flush_handler, NULL);
}
