#include "sip/transport/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "sip/message/error.h"
#include "sip/message/text.h"
#include "sip/transport/ceiling.h"
#include "sip/transport/conn_internal.h"
#include "sip/transport/tls.h"
#include "sip/transport/trace.h"

#define OPEN_MS         10000        /* connect and handshake */
#define IDLE_MS         (900 * 1000) /* nothing sent or received */
#define PONG_MS         10000        /* RFC 5626 4.4.1 */
#define QUEUE_BYTES_MAX (1024 * 1024)
#define QUEUE_CRLF_MAX  4 /* keep-alives; one answers for more */

struct tx_item {
	struct le le;
	struct mbuf *mb;
	size_t pos;
	size_t start;
	bool traced;
	bool message; /* else a keep-alive: not traced */
};

static void item_destructor(void *arg)
{
	struct tx_item *item = arg;

	list_unlink(&item->le);
	mem_deref(item->mb);
}

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
	if (conn->tx_kept > 0) /* else the transport may be gone */
		ceiling_give(conn->t->ua, CEILING_STREAM_OUT, conn->tx_kept);
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
	conn_rest_trace(conn);
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

/* Who sends does not expect to be called back: the end is told from a timer. */
static void conn_break(struct conn *conn, int err)
{
	conn->broken = err;
	mono_timer_start(&conn->tmr, 0, broken_handler, conn);
}

int conn_events_want(struct conn *conn, int flags)
{
	return neg(fd_listen(conn->fd, flags, conn_event_handler, conn));
}

/* Once, when it is first handed to the socket. */
static void item_trace(struct conn *conn, struct tx_item *item)
{
	if (item->message && !item->traced)
		trace_sent(conn->t->ua, conn->tp, &conn->laddr, &conn->paddr,
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
		n = conn_bytes_write(conn, item->mb->buf + item->pos,
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

/* What the peer did not take. */
static void queue_account(struct conn *conn)
{
	ceiling_give(conn->t->ua, CEILING_STREAM_OUT, conn->tx_kept);
	conn->tx_kept = 0;
	if (ceiling_take(conn->t->ua, CEILING_STREAM_OUT, conn->tx_bytes))
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

void conn_crlf_send(struct conn *conn, const char *text)
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
	/* One that is still awaited is late, whatever follows it. */
	if (!mono_timer_running(&conn->tmr_pong))
		mono_timer_start(&conn->tmr_pong, PONG_MS, pong_timeout, conn);
	conn_crlf_send(conn, "\r\n\r\n");
}

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
	(void)stamp_enable(fd); /* without, messages are timed when read */
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
	conn_rest_trace(conn);
	conn_release(conn);
	mem_deref(conn);
	return false;
}

void transport_flush(struct transport *t)
{
	hash_apply(t->conns, flush_handler, NULL);
}
