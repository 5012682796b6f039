/* What a connection carries: datagrams into the stream, frames out of it. */
#include "media/nat/turn_frame.h"
#include "media/nat/turn_stream_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define DATAGRAM_BYTES 4096 /* with the frame around it; more is no media */

static void lost(struct turn_stream *s, const char *reason)
{
	const char *none = NULL;

	/* the first reason counts; release: pairs with the acquire above */
	atomic_compare_exchange_strong_explicit(&s->reason, &none, reason,
						memory_order_release,
						memory_order_relaxed);
	epoll_ctl(s->all->epoll_fd, EPOLL_CTL_DEL, s->tcp, NULL);
}

/* ---- to the server ---- */

/* @return bytes taken; 0: no room; -1: the connection is gone */
static ssize_t stream_write(struct turn_stream *s, const uint8_t *data,
			    size_t bytes)
{
	size_t taken = 0;
	ssize_t sent;
	int why;

	if (!s->ssl) {
		sent = send(s->tcp, data, bytes, MSG_NOSIGNAL);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		return sent;
	}
	ERR_clear_error();
	why = SSL_get_error(s->ssl, SSL_write_ex(s->ssl, data, bytes, &taken));
	if (why == SSL_ERROR_NONE)
		return (ssize_t)taken;
	return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0
									 : -1;
}

static void interest_set(struct turn_stream *s, bool writing)
{
	struct epoll_event event = {
		.events = EPOLLIN | (writing ? EPOLLOUT : 0u),
		.data.ptr = s,
	};

	if (s->writing == writing)
		return;
	s->writing = writing;
	epoll_ctl(s->all->epoll_fd, EPOLL_CTL_MOD, s->tcp, &event);
}

static void out_flush(struct turn_stream *s)
{
	while (s->connected && s->out_bytes > 0) {
		ssize_t sent = stream_write(s, s->out, s->out_bytes);

		if (sent < 0) {
			lost(s, "the TURN server closed the connection");
			return;
		}
		if (sent == 0)
			break;
		s->out_bytes -= (size_t)sent;
		memmove(s->out, s->out + sent, s->out_bytes);
	}
	interest_set(s, !s->connected || s->out_bytes > 0);
}

void turn_stream_send(struct turn_stream *s)
{
	for (;;) {
		size_t room = RELAY_STREAM_OUT_BYTES - s->out_bytes;
		uint8_t data[DATAGRAM_BYTES];
		ssize_t got = recv(s->pair[THREADS], data, sizeof(data),
				   MSG_DONTWAIT | MSG_TRUNC);
		size_t padded;

		if (got < 0)
			break;
		padded = ((size_t)got + 3) & ~(size_t)3;
		if ((size_t)got > sizeof(data) || padded > room)
			continue;
		/* RFC 8656 12.5: over a stream a frame is padded */
		memcpy(s->out + s->out_bytes, data, (size_t)got);
		memset(s->out + s->out_bytes + got, 0, padded - (size_t)got);
		s->out_bytes += padded;
	}
	out_flush(s);
}

/* ---- from the server ---- */

static void in_cut(struct turn_stream *s)
{
	size_t at = 0;

	for (;;) {
		size_t whole;
		int err = turn_frame_size(&whole, s->in + at, s->in_bytes - at);

		if (err == -EBADMSG) {
			lost(s, "the TURN server sends no TURN");
			return;
		}
		if (err || whole > s->in_bytes - at)
			break;
		/* one that does not fit is lost, as with a full socket */
		(void)send(s->pair[THREADS], s->in + at, whole, MSG_DONTWAIT);
		at += whole;
	}
	s->in_bytes -= at;
	memmove(s->in, s->in + at, s->in_bytes);
}

/* @return bytes; 0: none yet; -1: the connection is gone */
static ssize_t stream_read(struct turn_stream *s)
{
	size_t room = RELAY_STREAM_IN_BYTES - s->in_bytes;
	uint8_t *to = s->in + s->in_bytes;
	size_t taken = 0;
	ssize_t got;
	int why;

	if (!s->ssl) {
		got = recv(s->tcp, to, room, MSG_DONTWAIT);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		return got == 0 ? -1 : got;
	}
	ERR_clear_error();
	why = SSL_get_error(s->ssl, SSL_read_ex(s->ssl, to, room, &taken));
	if (why == SSL_ERROR_NONE)
		return (ssize_t)taken;
	return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0
									 : -1;
}

static void stream_take(struct turn_stream *s)
{
	ssize_t got;

	while ((got = stream_read(s)) > 0) {
		s->in_bytes += (size_t)got;
		in_cut(s);
		if (turn_stream_reason(s))
			return;
	}
	if (got < 0)
		lost(s, "the TURN server closed the connection");
}

/* ---- the beginning ---- */

static void connecting(struct turn_stream *s)
{
	int error = 0;
	socklen_t bytes = sizeof(error);
	int why;

	if (getsockopt(s->tcp, SOL_SOCKET, SO_ERROR, &error, &bytes) || error) {
		lost(s, "the TURN server takes no connection");
		return;
	}
	if (s->ssl) {
		ERR_clear_error();
		why = SSL_get_error(s->ssl, SSL_connect(s->ssl));
		if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
			interest_set(s, why == SSL_ERROR_WANT_WRITE);
			return;
		}
		if (why != SSL_ERROR_NONE) {
			lost(s,
			     SSL_get_verify_result(s->ssl) == X509_V_OK
				     ? "the TURN server speaks no TLS that "
				       "we do"
				     : "the TURN server's certificate is not "
				       "valid");
			return;
		}
	}
	s->connected = true;
	out_flush(s);
}

void turn_stream_event(struct turn_stream *s, unsigned events)
{
	if (turn_stream_reason(s))
		return;
	if (!s->connected)
		connecting(s);
	if (s->connected && !turn_stream_reason(s) && events & EPOLLOUT)
		out_flush(s);
	if (s->connected && !turn_stream_reason(s))
		stream_take(s);
}
