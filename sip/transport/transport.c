#include "sip/transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stamp.h"
#include "sip/error.h"
#include "sip/transport/conn.h"
#include "sip/transport/hop.h"
#include "sip/transport/receive.h"
#include "sip/transport/tls.h"
#include "sip/transport/trace.h"
#include "sip/transport/transport_internal.h"

#define DATAGRAM_BYTES_MAX 65536
#define DATAGRAMS_A_TURN   64
#define SOCKET_BYTES       (4 * 1024 * 1024) /* asked for; the kernel caps it */
#define LISTEN_BACKLOG     1024
#define ERRORS_MAX         64
#define CONN_HASH_SIZE     1024
#define PORT_TRIES         64 /* to find a port free for UDP and TCP */

/* A destination that ICMP reported as unreachable. */
struct unreachable {
	struct le le;
	struct sa dst;
	int err;
};

static void unreachable_destructor(void *arg)
{
	struct unreachable *u = arg;

	list_unlink(&u->le);
}

static void errors_deliver(void *arg)
{
	struct transport *t = arg;
	struct unreachable *u;

	while ((u = list_ledata(list_head(&t->errors)))) {
		list_unlink(&u->le);
		t->handlers.unreachable_h(&u->dst, u->err, t->handlers.arg);
		mem_deref(u);
	}
}

static void error_note(struct transport *t, const struct sockaddr *name,
		       int err)
{
	struct unreachable *u;

	if (list_count(&t->errors) >= ERRORS_MAX)
		return;
	u = mem_zalloc(sizeof(*u), unreachable_destructor);
	if (!u)
		return;
	u->err = err;
	if (sa_set_sa(&u->dst, name)) {
		mem_deref(u);
		return;
	}
	list_append(&t->errors, &u->le, u);
	/* Not within a send, whose caller does not expect the handler. */
	mono_timer_start(&t->tmr_errors, 0, errors_deliver, t);
}

/* Read ICMP errors about our datagrams (ip(7), IP_RECVERR). */
static void errors_read(struct transport *t)
{
	for (;;) {
		struct sockaddr_storage name;
		union {
			char bytes[512];
			struct cmsghdr align;
		} control;
		char payload[1];
		struct iovec iov = {payload, sizeof(payload)};
		struct msghdr msg = {
			.msg_name = &name,
			.msg_namelen = sizeof(name),
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes),
		};

		if (recvmsg(t->udp_fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c;
		     c = CMSG_NXTHDR(&msg, c)) {
			struct sock_extended_err error;

			if (!((c->cmsg_level == IPPROTO_IP &&
			       c->cmsg_type == IP_RECVERR) ||
			      (c->cmsg_level == IPPROTO_IPV6 &&
			       c->cmsg_type == IPV6_RECVERR)))
				continue;
			memcpy(&error, CMSG_DATA(c), sizeof(error));
			if (error.ee_errno != EMSGSIZE)
				error_note(t, (struct sockaddr *)&name,
					   (int)error.ee_errno);
		}
	}
}

static bool is_stun(const uint8_t *data, size_t len)
{
	/* RFC 5389 section 6: two zero bits, and the cookie */
	return len >= 20 && (data[0] & 0xc0) == 0 && data[4] == 0x21 &&
	       data[5] == 0x12 && data[6] == 0xa4 && data[7] == 0x42;
}

static void datagram_received(struct transport *t, const struct sa *src,
			      size_t len, int64_t mono_ns)
{
	const struct arrival arrival = {
		.mono_ns = mono_ns,
		.tp = SIP_TRANSP_UDP,
		.src = src,
		.dst = &t->laddr,
		.data = t->rx,
		.len = len,
	};
	size_t crlf = 0;

	while (crlf < len && (t->rx[crlf] == '\r' || t->rx[crlf] == '\n'))
		crlf++;
	if (crlf == len)
		return; /* a keep-alive of the peer */
	if (is_stun(t->rx, len)) {
		t->handlers.stun_h(src, t->rx, len, t->handlers.arg);
		return;
	}
	receive_message(t, &arrival);
}

/* @return bytes; -errno */
static ssize_t datagram_read(struct transport *t, struct sa *src,
			     int64_t *ret_ns)
{
	union {
		char bytes[STAMP_SPACE];
		struct cmsghdr align;
	} control;
	struct iovec iov = {t->rx, DATAGRAM_BYTES_MAX};
	struct msghdr msg = {
		.msg_name = &src->u,
		.msg_namelen = sizeof(src->u),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct stamp_clock clock;
	ssize_t len = recvmsg(t->udp_fd, &msg, MSG_DONTWAIT);

	if (len < 0)
		return -errno;
	src->len = msg.msg_namelen;
	stamp_clock_read(&clock);
	*ret_ns = stamp_find(&msg, &clock);
	return len;
}

int transport_receive_drops(const struct transport *t, uint64_t *ret)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t bytes = sizeof(info);

	if (getsockopt(t->udp_fd, SOL_SOCKET, SO_MEMINFO, info, &bytes) < 0)
		return -errno;
	*ret = info[SK_MEMINFO_DROPS];
	return 0;
}

static void udp_handler(int flags, void *arg)
{
	struct transport *t = arg;

	for (int i = 0; i < DATAGRAMS_A_TURN; i++) {
		struct sa src = {0};
		int64_t mono_ns = 0;
		ssize_t len = datagram_read(t, &src, &mono_ns);

		if (len >= 0) {
			datagram_received(t, &src, (size_t)len, mono_ns);
			continue;
		}
		if (len == -EAGAIN || len == -EINTR)
			break;
		errors_read(t);
	}
	if (flags & FD_EXCEPT)
		errors_read(t);
}

static int udp_send_to(struct transport *t, const struct sa *dst,
		       const struct mbuf *mb)
{
	ssize_t n = -1;

	trace_sent(t, SIP_TRANSP_UDP, &t->laddr, dst, mbuf_buf(mb),
		   mbuf_get_left(mb));
	/* the first error may belong to an earlier datagram: send again */
	for (int i = 0; i < 2 && n < 0; i++) {
		n = sendto(t->udp_fd, mbuf_buf(mb), mbuf_get_left(mb),
			   MSG_DONTWAIT | MSG_NOSIGNAL, &dst->u.sa, dst->len);
		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
			return 0; /* lost as a datagram can be: it is repeated */
		if (n < 0 && i == 0)
			errors_read(t);
	}
	return n < 0 ? -errno : 0;
}

void transport_datagram(struct transport *t, const struct sa *dst,
			const uint8_t *data, size_t len)
{
	if (sendto(t->udp_fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   &dst->u.sa, dst->len) < 0)
		errors_read(t);
}

int transport_send(struct transport *t, const struct hop *hop, struct mbuf *mb,
		   struct conn_watch *watch)
{
	if (sa_af(&hop->addr) != sa_af(&t->laddr))
		return -EAFNOSUPPORT;
	if (hop->tp == SIP_TRANSP_UDP)
		return udp_send_to(t, &hop->addr, mb);
	if (hop->tp != SIP_TRANSP_TCP && hop->tp != SIP_TRANSP_TLS)
		return -EPROTONOSUPPORT;
	return conn_send(t, hop, mb, watch);
}

static int socket_bound(int type, const struct sa *laddr)
{
	int fd = socket(sa_af(laddr), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	int err;

	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &laddr->u.sa, laddr->len) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int open_udp_socket(struct transport *t)
{
	bool v6 = sa_af(&t->laddr) == AF_INET6;
	int size = SOCKET_BYTES;
	int on = 1;

	t->udp_fd = socket_bound(SOCK_DGRAM, &t->laddr);
	if (t->udp_fd < 0)
		return t->udp_fd;
	(void)setsockopt(t->udp_fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	(void)setsockopt(t->udp_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	(void)setsockopt(t->udp_fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			 v6 ? IPV6_RECVERR : IP_RECVERR, &on, sizeof(on));
	(void)stamp_enable(
		t->udp_fd); /* else messages have the time of reading */
	t->laddr.len = sizeof(t->laddr.u);
	if (getsockname(t->udp_fd, &t->laddr.u.sa, &t->laddr.len) < 0)
		return -errno;
	return neg(fd_listen(t->udp_fd, FD_READ, udp_handler, t));
}

static int tcp_open(struct transport *t)
{
	t->tcp_fd = socket_bound(SOCK_STREAM, &t->laddr);
	if (t->tcp_fd < 0)
		return t->tcp_fd;
	if (listen(t->tcp_fd, LISTEN_BACKLOG) < 0)
		return -errno;
	return neg(fd_listen(t->tcp_fd, FD_READ, conn_accept_handler, t));
}

static void descriptor_close(int *fd)
{
	if (*fd < 0)
		return;
	fd_close(*fd);
	close(*fd);
	*fd = -1;
}

static void sockets_close(struct transport *t)
{
	descriptor_close(&t->udp_fd);
	descriptor_close(&t->tcp_fd);
}

static void transport_destructor(void *arg)
{
	struct transport *t = arg;

	deferred_close(&t->deferred);
	mono_timer_cancel(&t->tmr_errors);
	list_flush(&t->errors);
	if (t->conns)
		conn_close_all(t);
	sockets_close(t);
	if (t->spare_fd >= 0)
		close(t->spare_fd);
	mem_deref(t->conns);
	mem_deref(t->server_tls);
	mem_deref(t->dnsc);
	mem_deref(t->rx);
}

static int sockets_open(struct transport *t, const struct sa *laddr)
{
	int err = -EADDRINUSE;

	/* UDP and TCP need the same port, as one Contact stands for both. */
	for (unsigned i = 0; i < PORT_TRIES && err == -EADDRINUSE; i++) {
		sockets_close(t);
		t->laddr = *laddr;
		err = open_udp_socket(t);
		if (!err)
			err = tcp_open(t);
		if (sa_port(laddr))
			break;
	}
	return err;
}

int transport_new(struct transport **ret, const struct transport_params *params)
{
	struct transport *t = mem_zalloc(sizeof(*t), transport_destructor);
	int err;

	if (!t)
		return -ENOMEM;
	t->handlers = params->handlers;
	t->dnsc = mem_ref(params->dnsc);
	ceilings_init(&t->ceilings, params->handlers.full_h,
		      params->handlers.arg);
	t->udp_fd = -1;
	t->tcp_fd = -1;
	t->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	t->rx = mem_alloc(DATAGRAM_BYTES_MAX, NULL);
	err = t->rx ? neg(hash_alloc(&t->conns, CONN_HASH_SIZE)) : -ENOMEM;
	if (!err)
		err = sockets_open(t, &params->laddr);
	if (err) {
		mem_deref(t);
		return err;
	}
	*ret = t;
	return 0;
}

void transport_flush(struct transport *t)
{
	conn_close_all(t);
}

void transport_accept_tls(struct transport *t, struct tls_context *server_tls)
{
	mem_deref(t->server_tls);
	t->server_tls = mem_ref(server_tls);
}

const struct sa *transport_laddr(const struct transport *t)
{
	return &t->laddr;
}

struct dnsc *transport_dnsc(const struct transport *t)
{
	return t->dnsc;
}

struct ceilings *transport_ceilings(struct transport *t)
{
	return &t->ceilings;
}

struct deferred_queue *transport_deferred(struct transport *t)
{
	return &t->deferred;
}

int64_t transport_sent_ns(const struct transport *t)
{
	return t->sent_ns;
}

int64_t transport_received_ns(const struct transport *t)
{
	return t->received_ns;
}

int64_t transport_event_ns(const struct transport *t)
{
	return t->deferred.handling ? t->received_ns : clock_mono_ns();
}
