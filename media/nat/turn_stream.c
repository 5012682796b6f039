#include "media/nat/turn_stream_internal.h"

#include "base/str.h"
#include "media/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 64

int turn_stream_fd(const struct turn_stream *s)
{
	return s->pair[OURS];
}

const char *turn_stream_reason(const struct turn_stream *s)
{
	/* acquire: pairs with the release in lost(); the text is static */
	return atomic_load_explicit(&s->reason, memory_order_acquire);
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

/* Those whose owner let go. */
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
			turn_stream_send(s); /* its farewell */
		release(s);
	}
}

/* Which of a stream's descriptors an event is of: pairs have bit 0 set. */
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
				turn_stream_send(s);
			else
				turn_stream_event(s, events[i].events);
		}
		/* last: one that is closed may still be in `events` */
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
	/* a packet waits for no other */
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
	err = all->count == RELAY_STREAMS_MAX ? -ENOSPC : 0;
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
	err = events_want(s); /* it is the thread's from here on */
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
