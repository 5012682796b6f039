#include "media/nat/turn_stream.h"

#include "base/str.h"
#include "media/nat/turn_frame.h"
#include "media/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX     64
#define DATAGRAM_BYTES 4096 /* a frame; longer ones are no media */
#define NAME_BYTES     256

/* The ends of the socket pair: one for the media threads and the loop, one for the
 * thread of the connections. */
enum {
	OURS,
	THREADS,
};

struct turn_stream {
	/* constant after turn_stream_open() */
	struct turn_streams *all;
	int pair[2];
	int tcp;
	char name[NAME_BYTES];

	_Atomic(const char *) reason; /* thread; static text */

	/* under the lock of all */
	struct turn_stream *next;
	bool closing; /* loop */

	/* thread */
	SSL *ssl; /* NULL: TCP alone */
	bool connected;
	bool writing; /* epoll reports when it can be written to */
	uint8_t *out;
	size_t out_bytes;
	uint8_t *in;
	size_t in_bytes;
};

struct turn_streams {
	pthread_t thread;
	bool started;
	int epoll_fd;
	int wake_fd;
	SSL_CTX *verifying;
	SSL_CTX *trusting;
	_Atomic bool quit;
	/* the RX and TX threads do not take this lock */
	pthread_mutex_t lock;
	struct turn_stream *list;
	size_t count;
};

int turn_stream_fd(const struct turn_stream *s)
{
	return s->pair[OURS];
}

const char *turn_stream_reason(const struct turn_stream *s)
{
	/* acquire: pairs with the release in lost(); the text is static */
	return atomic_load_explicit(&s->reason, memory_order_acquire);
}

static void lost(struct turn_stream *s, const char *reason)
{
	const char *none = NULL;

	/* the first reason is kept; release: pairs with the acquire in
	 * turn_stream_reason() */
	atomic_compare_exchange_strong_explicit(&s->reason, &none, reason,
						memory_order_release,
						memory_order_relaxed);
	epoll_ctl(s->all->epoll_fd, EPOLL_CTL_DEL, s->tcp, NULL);
}

/* Map the result of SSL_read_ex() or SSL_write_ex().
 * @param done  what it returned
 * @return bytes; 0: it would block; -1: the connection is closed or broken */
static ssize_t tls_result(struct turn_stream *s, int done, size_t bytes)
{
	int why = SSL_get_error(s->ssl, done);

	if (why == SSL_ERROR_NONE)
		return (ssize_t)bytes;
	return why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ ? 0
									 : -1;
}

/* ---- to the server ---- */

/* @return bytes taken; 0: no room; -1: the connection is gone */
static ssize_t stream_write(struct turn_stream *s, const uint8_t *data,
			    size_t bytes)
{
	size_t taken = 0;
	ssize_t sent;
	int done;

	if (!s->ssl) {
		sent = send(s->tcp, data, bytes, MSG_NOSIGNAL);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		return sent;
	}
	ERR_clear_error();
	done = SSL_write_ex(s->ssl, data, bytes, &taken);
	return tls_result(s, done, taken);
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

/* Copy the waiting datagrams into the stream; each is a whole frame. */
static void datagrams_send(struct turn_stream *s)
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
		/* in a stream a frame is padded (RFC 8656 section 12.5) */
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
		/* a datagram that does not fit is dropped, as by a full UDP socket */
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
	int done;

	if (!s->ssl) {
		got = recv(s->tcp, to, room, MSG_DONTWAIT);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		return got == 0 ? -1 : got;
	}
	ERR_clear_error();
	done = SSL_read_ex(s->ssl, to, room, &taken);
	return tls_result(s, done, taken);
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

/* ---- connecting ---- */

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

/* The connection to the server is ready. @param events  of epoll */
static void connection_event(struct turn_stream *s, unsigned events)
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

/* ---- the thread ---- */

static void release(struct turn_stream *s)
{
	SSL_free(s->ssl);
	for (int i = 0; i < 2; i++) {
		if (s->pair[i] >= 0)
			close(s->pair[i]);
	}
	if (s->tcp >= 0)
		close(s->tcp);
	free(s->out);
	free(s->in);
	free(s);
}

/* Free those that were closed. */
static void closing_sweep(struct turn_streams *all, bool every)
{
	struct turn_stream *gone = NULL;
	struct turn_stream **link;

	pthread_mutex_lock(&all->lock);
	link = &all->list;
	while (*link) {
		struct turn_stream *s = *link;

		if (!s->closing && !every) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		s->next = gone;
		gone = s;
		all->count--;
	}
	pthread_mutex_unlock(&all->lock);
	while (gone) {
		struct turn_stream *s = gone;

		gone = s->next;
		if (!turn_stream_reason(s))
			datagrams_send(s); /* what was sent before the close */
		release(s);
	}
}

/* Bit 0 of an event's data tells the two descriptors of a stream apart: set for the
 * socket pair. */
#define PAIR_TAG ((uintptr_t)1)

static void *streams_thread(void *arg)
{
	struct turn_streams *all = arg;
	struct epoll_event events[EVENTS_MAX];

	/* acquire: pairs with the release in turn_streams_free() */
	while (!atomic_load_explicit(&all->quit, memory_order_acquire)) {
		int count = epoll_wait(all->epoll_fd, events, EVENTS_MAX, -1);
		bool woken = false;

		for (int i = 0; i < count; i++) {
			uintptr_t tagged = (uintptr_t)events[i].data.u64;
			struct turn_stream *s =
				(struct turn_stream *)(tagged & ~PAIR_TAG);

			if (!s)
				woken = true;
			else if (tagged & PAIR_TAG)
				datagrams_send(s);
			else
				connection_event(s, events[i].events);
		}
		/* last: a connection that was closed may still be in `events` */
		if (woken) {
			uint64_t number;
			ssize_t got =
				read(all->wake_fd, &number, sizeof(number));

			(void)got;
			closing_sweep(all, false);
		}
	}
	return NULL;
}

static SSL_CTX *context_new(bool verify)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (!ctx)
		return NULL;
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (verify) {
		SSL_CTX_set_default_verify_paths(ctx);
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	}
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

int turn_streams_new(struct turn_streams **ret)
{
	struct turn_streams *all = calloc(1, sizeof(*all));
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
	int err = 0;

	if (!all)
		return -ENOMEM;
	pthread_mutex_init(&all->lock, NULL);
	all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	all->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	all->verifying = context_new(true);
	all->trusting = context_new(false);
	if (all->epoll_fd < 0 || all->wake_fd < 0 || !all->verifying ||
	    !all->trusting ||
	    epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, all->wake_fd, &event))
		err = -ENOMEM;
	if (!err)
		err = -pthread_create(&all->thread, NULL, streams_thread, all);
	all->started = !err;
	if (err) {
		turn_streams_free(all);
		return err;
	}
	pthread_setname_np(all->thread, "media-relay");
	*ret = all;
	return 0;
}

static void wake(struct turn_streams *all)
{
	uint64_t one = 1;
	ssize_t written = write(all->wake_fd, &one, sizeof(one));

	(void)written;
}

struct turn_streams *turn_streams_free(struct turn_streams *all)
{
	if (!all)
		return NULL;
	/* release: pairs with the acquire in the thread */
	atomic_store_explicit(&all->quit, true, memory_order_release);
	if (all->started) {
		wake(all);
		pthread_join(all->thread, NULL);
	}
	closing_sweep(all, true);
	SSL_CTX_free(all->verifying);
	SSL_CTX_free(all->trusting);
	if (all->epoll_fd >= 0)
		close(all->epoll_fd);
	if (all->wake_fd >= 0)
		close(all->wake_fd);
	pthread_mutex_destroy(&all->lock);
	free(all);
	return NULL;
}

/* ---- a connection ---- */

static int tls_make(struct turn_stream *s,
		    const struct turn_stream_params *params)
{
	s->ssl = SSL_new(params->verify ? s->all->verifying : s->all->trusting);
	if (!s->ssl || SSL_set_fd(s->ssl, s->tcp) != 1)
		return -ENOMEM;
	if (s->name[0] && (SSL_set_tlsext_host_name(s->ssl, s->name) != 1 ||
			   SSL_set1_host(s->ssl, s->name) != 1))
		return -ENOMEM;
	return 0;
}

static int tcp_connect_to(struct turn_stream *s,
			  const struct turn_stream_params *params)
{
	struct media_addr local = params->local;
	int on = 1;

	media_addr_set_port(&local, 0);
	s->tcp = socket(params->server.ss.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->tcp < 0)
		return -errno;
	/* send small packets at once */
	(void)setsockopt(s->tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(s->tcp, (const struct sockaddr *)(const void *)&local.ss,
		 local.len))
		return -errno;
	if (connect(s->tcp,
		    (const struct sockaddr *)(const void *)&params->server.ss,
		    params->server.len) &&
	    errno != EINPROGRESS)
		return -errno;
	return 0;
}

static int events_want(struct turn_stream *s)
{
	struct epoll_event tcp = {.events = EPOLLIN | EPOLLOUT, .data.ptr = s};
	struct epoll_event pair = {
		.events = EPOLLIN,
		.data.u64 = (uintptr_t)s | PAIR_TAG,
	};

	s->writing = true;
	if (epoll_ctl(s->all->epoll_fd, EPOLL_CTL_ADD, s->tcp, &tcp) ||
	    epoll_ctl(s->all->epoll_fd, EPOLL_CTL_ADD, s->pair[THREADS], &pair))
		return -errno;
	return 0;
}

static int stream_make(struct turn_stream *s,
		       const struct turn_stream_params *params)
{
	int err;

	s->out = malloc(RELAY_STREAM_OUT_BYTES);
	s->in = malloc(RELAY_STREAM_IN_BYTES);
	if (!s->out || !s->in ||
	    str_copy(s->name, sizeof(s->name),
		     params->name ? params->name : ""))
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       s->pair))
		return -errno;
	err = tcp_connect_to(s, params);
	return !err && params->tls ? tls_make(s, params) : err;
}

int turn_stream_open(struct turn_stream **ret, struct turn_streams *all,
		     const struct turn_stream_params *params)
{
	struct turn_stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->all = all;
	s->pair[0] = s->pair[1] = s->tcp = -1;
	err = stream_make(s, params);
	if (err) {
		release(s);
		return err;
	}
	pthread_mutex_lock(&all->lock);
	err = all->count == RELAY_STREAMS_MAX ? -EUSERS : 0;
	if (!err) {
		s->next = all->list;
		all->list = s;
		all->count++;
	}
	pthread_mutex_unlock(&all->lock);
	if (err) {
		release(s);
		return err;
	}
	err = events_want(s); /* the thread has it from here on */
	if (err) {
		turn_stream_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct turn_stream *turn_stream_close(struct turn_stream *s)
{
	struct turn_streams *all;

	if (!s)
		return NULL;
	all = s->all;
	pthread_mutex_lock(&all->lock);
	s->closing = true;
	pthread_mutex_unlock(&all->lock);
	wake(all);
	return NULL;
}
