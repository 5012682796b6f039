#include "sip/transport/conn_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "base/stamp.h"

ssize_t conn_bytes_write(struct conn *conn, const uint8_t *p, size_t len)
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

ssize_t conn_bytes_read(struct conn *conn, uint8_t *p, size_t size)
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
