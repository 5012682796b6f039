#include "sip/transport/conn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sip/error.h"

#define TLS_HANDSHAKE 0x16 /* first byte of a TLS record (RFC 8446 5.1) */

static void conn_up(struct conn *conn)
{
	conn->state = CONN_UP;
	(void)conn_events_want(conn, FD_READ);
	conn_busy(conn);
	conn_flush(conn);
}

static void handshake(struct conn *conn)
{
	int n;

	ERR_clear_error();
	n = SSL_do_handshake(conn->ssl);
	if (n == 1) {
		conn_up(conn);
		/* OpenSSL may have data that came with the last flight. */
		conn_read(conn);
		return;
	}
	switch (SSL_get_error(conn->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		(void)conn_events_want(conn, FD_READ);
		break;
	case SSL_ERROR_WANT_WRITE:
		(void)conn_events_want(conn, FD_WRITE);
		break;
	default:
		conn_tls_close(conn);
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

void conn_event_handler(int flags, void *arg)
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

/* No descriptor is left: accept with the spare one and close, so that the peer is
 * told and the listener does not stay readable. */
static void accept_refuse(struct transport *t)
{
	int fd;

	close(t->spare_fd);
	fd = accept4(t->tcp_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	t->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
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
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		accept_refuse(t);
	if (fd < 0)
		return;
	conn = conn_make(t, fd, SIP_TRANSP_TCP, &paddr);
	if (!conn) {
		close(fd);
		return;
	}
	conn->state = CONN_SNIFFING;
	if (conn_events_want(conn, FD_READ))
		conn_close(conn, EMFILE, "too many descriptors");
}

/* Make a socket bound to our address and any port, and connect it. */
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

int conn_open(struct conn **ret, struct transport *t, const struct hop *hop)
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
		err = conn_events_want(conn, FD_WRITE);
	if (err) {
		conn_release(conn);
		mem_deref(conn);
		return err;
	}
	*ret = conn;
	return 0;
}

/* Whether a connection can be used for a hop: an accepted one always, one that we
 * opened only if the peer was verified in the same way. */
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
