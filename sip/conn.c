#include "sip/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/stamp.h"
#include "base/str.h"
#include "sip/frame.h"
#include "sip/internal.h"
#include "sip/tls.h"

#define OPEN_MS         10000        /* connect and handshake */
#define IDLE_MS         (900 * 1000) /* nothing sent or received */
#define PONG_MS         10000        /* RFC 5626 4.4.1 */
#define QUEUE_BYTES_MAX (1024 * 1024)
#define READ_BYTES      16384
#define TLS_HANDSHAKE   0x16 /* first byte of a TLS record (RFC 8446 5.1) */

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
	struct mbuf *rx;
	int64_t rx_ns; /* its last bytes came */
	struct list watches;
	struct tmr tmr;
	struct tmr tmr_pong;
	int broken; /* errno of a send that failed; told from a timer */
};

struct tx_item {
	struct le le;
	struct mbuf *mb;
	size_t pos;
	size_t start;
	bool message; /* else a keep-alive: not traced */
};

static void event_handler(int flags, void *arg);

static void item_destructor(void *arg)
{
	struct tx_item *item = arg;

	list_unlink(&item->le);
	mem_deref(item->mb);
}

/* Out of the table and off the socket; those who watch it hear of it last. */
static void conn_release(struct conn *conn)
{
	conn->state = CONN_CLOSED;
	tmr_cancel(&conn->tmr);
	tmr_cancel(&conn->tmr_pong);
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
	conn->tx_bytes = 0;
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

/* What is left over is no message, but it came. */
static void rest_trace(struct conn *conn)
{
	if (conn->rx && conn->rx->end > 0) {
		const struct arrival rest = arrival_of(conn, conn->rx->end);

		trace_received(conn->t->ua, &rest);
	}
	conn->rx = mem_deref(conn->rx);
}

static void conn_close(struct conn *conn, int err, const char *why)
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

static void tls_close(struct conn *conn)
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

static void pong_timeout(void *arg)
{
	conn_close(arg, ETIMEDOUT, "a keep-alive was not answered");
}

static void broken_handler(void *arg)
{
	struct conn *conn = arg;

	if (conn->ssl && conn->broken == EPROTO)
		tls_close(conn);
	else
		conn_close(conn, conn->broken, strerror(conn->broken));
}

/* Who sends does not expect to be called back: the end is told from a timer. */
static void conn_break(struct conn *conn, int err)
{
	conn->broken = err;
	tmr_start(&conn->tmr, 0, broken_handler, conn);
}

static int events_want(struct conn *conn, int flags)
{
	return neg(fd_listen(conn->fd, flags, event_handler, conn));
}

/* @return bytes; -EAGAIN; -errno */
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

static void item_trace(struct conn *conn, const struct tx_item *item)
{
	if (item->message && item->pos == item->start)
		trace_sent(conn->t->ua, conn->tp, &conn->laddr, &conn->paddr,
			   item->mb->buf + item->start,
			   item->mb->end - item->start);
}

static void conn_flush(struct conn *conn)
{
	struct tx_item *item;

	while ((item = list_ledata(list_head(&conn->tx)))) {
		ssize_t n;

		item_trace(conn, item);
		n = bytes_write(conn, item->mb->buf + item->pos,
				item->mb->end - item->pos);
		if (n == -EAGAIN) {
			(void)events_want(conn, FD_READ | FD_WRITE);
			return;
		}
		if (n < 0) {
			conn_break(conn, (int)-n);
			return;
		}
		item->pos += (size_t)n;
		conn->tx_bytes -= (size_t)n;
		if (item->pos == item->mb->end)
			mem_deref(item);
	}
	(void)events_want(conn, FD_READ);
	tmr_start(&conn->tmr, IDLE_MS, idle_timeout, conn);
}

static int item_add(struct conn *conn, struct mbuf *mb, bool message)
{
	struct tx_item *item;

	if (conn->tx_bytes + mbuf_get_left(mb) > QUEUE_BYTES_MAX)
		return -ENOBUFS;
	item = mem_zalloc(sizeof(*item), item_destructor);
	if (!item)
		return -ENOMEM;
	item->mb = mem_ref(mb);
	item->start = mb->pos;
	item->pos = mb->pos;
	item->message = message;
	conn->tx_bytes += mbuf_get_left(mb);
	list_append(&conn->tx, &item->le, item);
	if (conn->state == CONN_UP && !conn->broken)
		conn_flush(conn);
	return 0;
}

static void crlf_send(struct conn *conn, const char *text)
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
	if (!tmr_isrunning(&conn->tmr_pong))
		tmr_start(&conn->tmr_pong, PONG_MS, pong_timeout, conn);
	crlf_send(conn, "\r\n\r\n");
}

/* CRLF between messages: two are a ping, one is a pong (RFC 5626 4.4.1).
 * @return bytes taken */
static size_t crlf_take(struct conn *conn)
{
	const uint8_t *p = conn->rx->buf;
	size_t len = conn->rx->end;

	if (len >= 4 && memcmp(p, "\r\n\r\n", 4) == 0) {
		crlf_send(conn, "\r\n");
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

/* recv(), and when what was read had come. */
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

/* @return bytes; 0 the peer closed; -EAGAIN; -errno */
static ssize_t bytes_read(struct conn *conn, uint8_t *p, size_t size)
{
	uint8_t next;
	ssize_t n;

	if (!conn->ssl)
		return stamped_recv(conn, p, size, 0);
	/* OpenSSL reads the socket itself. What it holds came with the bytes
	 * before: their time stays. What comes after this look is for the next
	 * one, which takes its time. */
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

static void conn_read(struct conn *conn)
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
		n = bytes_read(conn, conn->rx->buf + conn->rx->end, READ_BYTES);
		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n == -EPROTO && conn->ssl) {
			tls_close(conn);
			return;
		}
		if (n <= 0) {
			conn_close(conn, n ? (int)-n : ECONNRESET,
				   n ? strerror((int)-n)
				     : "the peer closed it");
			return;
		}
		conn->rx->end += (size_t)n;
		tmr_start(&conn->tmr, IDLE_MS, idle_timeout, conn);
		frames_take(conn);
	}
}

static void conn_up(struct conn *conn)
{
	conn->state = CONN_UP;
	(void)events_want(conn, FD_READ);
	tmr_start(&conn->tmr, IDLE_MS, idle_timeout, conn);
	conn_flush(conn);
}

static void handshake(struct conn *conn)
{
	int n;

	ERR_clear_error();
	n = SSL_do_handshake(conn->ssl);
	if (n == 1) {
		conn_up(conn);
		/* What came with the last flight waits within OpenSSL. */
		conn_read(conn);
		return;
	}
	switch (SSL_get_error(conn->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		(void)events_want(conn, FD_READ);
		break;
	case SSL_ERROR_WANT_WRITE:
		(void)events_want(conn, FD_WRITE);
		break;
	default:
		tls_close(conn);
		break;
	}
}

static void handshake_begin(struct conn *conn)
{
	conn->state = CONN_HANDSHAKE;
	conn->ssl =
		tls_session_new(conn->tls, conn->fd, conn->name, &conn->alert);
	if (conn->ssl)
		handshake(conn);
	else
		conn_close(conn, ENOMEM, "no TLS session could be made");
}

static void connected(struct conn *conn)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err)
		conn_close(conn, err, strerror(err));
	else if (conn->tls)
		handshake_begin(conn);
	else
		conn_up(conn);
}

static void sniff(struct conn *conn)
{
	uint8_t first;
	ssize_t n = recv(conn->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(conn, ECONNRESET, "the peer closed it");
	} else if (first != TLS_HANDSHAKE) {
		conn_up(conn);
	} else if (!conn->t->server_tls) {
		conn->tp = SIP_TRANSP_TLS;
		conn_close(conn, EPROTONOSUPPORT, "we have no certificate");
	} else {
		conn->tp = SIP_TRANSP_TLS;
		conn->tls = mem_ref(conn->t->server_tls);
		handshake_begin(conn);
	}
}

static void event_handler(int flags, void *arg)
{
	struct conn *conn = arg;

	mem_ref(conn);
	switch (conn->state) {
	case CONN_SNIFFING:
		sniff(conn);
		break;
	case CONN_CONNECTING:
		connected(conn);
		break;
	case CONN_HANDSHAKE:
		handshake(conn);
		break;
	case CONN_UP:
		if (flags & FD_WRITE)
			conn_flush(conn);
		conn_read(conn);
		break;
	case CONN_CLOSED:
		break;
	}
	mem_deref(conn);
}

/* In the table, with its reference; the caller's is borrowed. */
static struct conn *conn_make(struct transport *t, int fd, enum sip_transp tp,
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
	tmr_start(&conn->tmr, OPEN_MS, open_timeout, conn);
	hash_append(t->conns, sa_hash(paddr, SA_ALL), &conn->he, conn);
	t->conn_count++;
	return conn;
}

void conn_accept_handler(int flags, void *arg)
{
	struct transport *t = arg;
	struct sa paddr = {.len = sizeof(paddr.u)};
	struct conn *conn;
	int fd;
	(void)flags;

	fd = accept4(t->tcp_fd, &paddr.u.sa, &paddr.len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	conn = conn_make(t, fd, SIP_TRANSP_TCP, &paddr);
	if (!conn) {
		close(fd);
		return;
	}
	conn->state = CONN_SNIFFING;
	if (events_want(conn, FD_READ))
		conn_close(conn, EMFILE, "too many descriptors");
}

/* From our own address, a port of the kernel's. */
static int socket_connect(const struct transport *t, const struct sa *dst)
{
	struct sa laddr = t->laddr;
	int fd = socket(sa_af(dst), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0);
	int on = 1;
	int err;

	if (fd < 0)
		return -errno;
	sa_set_port(&laddr, 0);
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
			 sizeof(on));
	if (bind(fd, &laddr.u.sa, laddr.len) < 0 ||
	    (connect(fd, &dst->u.sa, dst->len) < 0 && errno != EINPROGRESS)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int conn_open(struct conn **ret, struct transport *t,
		     const struct hop *hop)
{
	struct conn *conn;
	int fd;
	int err = 0;

	if (hop->tp == SIP_TRANSP_TLS && !hop->tls)
		return -ENOTCONN;
	fd = socket_connect(t, &hop->addr);
	if (fd < 0)
		return fd;
	conn = conn_make(t, fd, hop->tp, &hop->addr);
	if (!conn) {
		close(fd);
		return -ENOBUFS;
	}
	conn->state = CONN_CONNECTING;
	if (hop->tp == SIP_TRANSP_TLS) {
		conn->tls = mem_ref(hop->tls);
		err = neg(hop->name
				  ? str_dup(&conn->name, hop->name)
				  : re_sdprintf(&conn->name, "%j", &hop->addr));
	}
	if (!err)
		err = events_want(conn, FD_WRITE);
	if (err) {
		conn_release(conn);
		mem_deref(conn);
		return err;
	}
	*ret = conn;
	return 0;
}

/* An accepted connection leads to its peer whatever we would verify; one we
 * opened is as good as it was verified. */
static bool fits(const struct conn *conn, const struct hop *hop)
{
	struct sa sa;

	if (conn->tp != hop->tp || conn->broken ||
	    !sa_cmp(&conn->paddr, &hop->addr, SA_ALL))
		return false;
	if (!conn->tls || !conn->name || !hop->tls)
		return true;
	if (conn->tls != hop->tls)
		return false;
	return !hop->name || sa_set_str(&sa, hop->name, 0) == 0 ||
	       strcasecmp(hop->name, conn->name) == 0;
}

struct conn *conn_find(const struct transport *t, const struct hop *hop)
{
	struct le *le =
		list_head(hash_list(t->conns, sa_hash(&hop->addr, SA_ALL)));

	for (; le; le = le->next) {
		if (fits(le->data, hop))
			return le->data;
	}
	return NULL;
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

void transport_flush(struct transport *t)
{
	hash_apply(t->conns, flush_handler, NULL);
}
