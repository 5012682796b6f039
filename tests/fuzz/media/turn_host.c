#include "turn_host.h"

#include "base/big_endian.h"
#include "media/nat/turn_stream.h"
#include "tests/fuzz/check.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE_MAX      16
#define DATAGRAM_BYTES 8192
#define TAKEN_BYTES    4096 /* by the thread at most */
/* of an input, so that none takes long */
#define SENT_BYTES_MAX (1 << 20)
#define WAY_BYTES      (256 * 1024)

/* Descriptors that are no descriptors. */
enum {
	FD_TCP = 1000000,
	FD_OURS,
	FD_THREADS,
	FD_END,
};

struct datagram {
	size_t bytes;
	uint8_t data[DATAGRAM_BYTES];
};

static struct {
	struct turn_streams *streams;
	void *(*routine)(void *arg);
	void *routine_arg;
	bool captures; /* pthread_create() keeps the routine */
	jmp_buf back;
	bool due; /* `event` has not happened yet */
	struct epoll_event event;
} thread;

/* What is written before it is read is not cleared. */
static struct {
	struct turn_stream *stream;
	unsigned open; /* descriptors, a bit for each */
	int refused;
	bool watched; /* the connection is, for these events: */
	struct epoll_event watch, watch_pair;
	bool connected, drops, broken;
	int error;
	size_t take;  /* bytes that the server takes */
	size_t given; /* bytes that have arrived and were not read yet */
	size_t sent;  /* by the server, in all */
	/* `way`: from the server, not arrived; `in`: read and no whole frame yet;
	 * `framed`: passed on; `out`: to the server, not taken yet */
	size_t way_bytes, in_at, in_bytes, framed_bytes, framed_at, out_bytes;
	size_t queued;
	struct datagram queue[QUEUE_MAX];
	uint8_t way[WAY_BYTES];
	uint8_t in[RELAY_STREAM_IN_BYTES];
	uint8_t framed[WAY_BYTES + RELAY_STREAM_IN_BYTES];
	uint8_t out[RELAY_STREAM_OUT_BYTES];
} host;

static size_t padded(size_t bytes)
{
	return (bytes + 3) / 4 * 4;
}

/* The frame at the start of a stream (RFC 8656 12.5).
 * @return its size; 0: it is incomplete; -1: it is none */
static ssize_t frame_bytes(const uint8_t *data, size_t bytes)
{
	size_t whole;

	if (bytes < 4)
		return 0;
	whole = be16(data + 2);
	if (data[0] >= 0x40 && data[0] < 0x80)
		whole = padded(4 + whole);
	else if (data[0] < 0x40 && whole % 4 == 0)
		whole += 20;
	else
		return -1;
	return whole <= bytes ? (ssize_t)whole : 0;
}

static ssize_t next_frame(void)
{
	return frame_bytes(host.in + host.in_at, host.in_bytes - host.in_at);
}

/* ---- functions of libc ---- */

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*routine)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*routine)(void *), void *arg);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int ms);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socketpair(int domain, int type, int protocol, int ret[2]);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes);
int __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *bytes);
ssize_t __wrap_recv(int fd, void *dst, size_t room, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
int __real_close(int fd);
int __wrap_close(int fd);
void __wrap_random_bytes(void *dst, size_t bytes);

/* Numbers of transactions. */
static uint64_t chance;

void __wrap_random_bytes(void *dst, size_t bytes)
{
	uint8_t *at = dst;

	for (size_t i = 0; i < bytes; i++) {
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		at[i] = (uint8_t)(chance >> 56);
	}
}

void host_begin(void)
{
	chance = 1;
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr,
			  void *(*routine)(void *), void *arg)
{
	if (!thread.captures)
		return __real_pthread_create(ret, attr, routine, arg);
	thread.routine = routine;
	thread.routine_arg = arg;
	*ret = pthread_self();
	return 0;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int ms)
{
	(void)fd;
	check(count > 0 && ms == -1);
	if (!thread.due)
		longjmp(thread.back, 1);
	thread.due = false;
	events[0] = thread.event;
	return 1;
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	(void)epoll;
	if (fd == FD_THREADS)
		host.watch_pair = *event;
	if (fd != FD_TCP)
		return 0;
	if (op != EPOLL_CTL_ADD && !host.watched) {
		errno = ENOENT;
		return -1;
	}
	host.watched = op != EPOLL_CTL_DEL;
	if (host.watched)
		host.watch = *event;
	return 0;
}

static int descriptor(int fd)
{
	unsigned bit = 1u << (fd - FD_TCP);

	check(!(host.open & bit));
	host.open |= bit;
	return fd;
}

static bool is_open(int fd)
{
	return fd >= FD_TCP && fd < FD_END && host.open & 1u << (fd - FD_TCP);
}

int __wrap_close(int fd)
{
	if (fd < FD_TCP)
		return __real_close(fd);
	check(is_open(fd));
	host.open &= ~(1u << (fd - FD_TCP));
	return 0;
}

int __wrap_socket(int domain, int type, int protocol)
{
	check(domain == AF_INET && (type & 0xf) == SOCK_STREAM && !protocol);
	return descriptor(FD_TCP);
}

int __wrap_socketpair(int domain, int type, int protocol, int ret[2])
{
	check(domain == AF_UNIX && (type & 0xf) == SOCK_DGRAM && !protocol);
	ret[0] = descriptor(FD_OURS);
	ret[1] = descriptor(FD_THREADS);
	return 0;
}

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t bytes)
{
	(void)at;
	check(fd == FD_TCP && bytes == sizeof(struct sockaddr_in));
	return 0;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
	(void)to;
	check(fd == FD_TCP && bytes == sizeof(struct sockaddr_in));
	errno = EINPROGRESS;
	return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *bytes)
{
	check(is_open(fd) && level == SOL_SOCKET && name == SO_ERROR &&
	      *bytes == sizeof(int));
	*(int *)ret = host.refused;
	return 0;
}

/* A datagram of ours. Its first bytes, padded, are to be written if they find room. */
static ssize_t recv_datagram(uint8_t *dst, size_t room)
{
	struct datagram *d = &host.queue[0];
	size_t bytes = d->bytes;
	size_t taken = bytes < room ? bytes : room;

	if (host.queued == 0) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(dst, d->data, taken);
	if (bytes <= TAKEN_BYTES &&
	    padded(bytes) <= sizeof(host.out) - host.out_bytes) {
		memset(host.out + host.out_bytes, 0, padded(bytes));
		memcpy(host.out + host.out_bytes, d->data, bytes);
		host.out_bytes += padded(bytes);
	}
	host.queued--;
	memmove(host.queue, host.queue + 1, host.queued * sizeof(*d));
	return (ssize_t)bytes;
}

ssize_t __wrap_recv(int fd, void *dst, size_t room, int flags)
{
	size_t bytes = host.given;

	check(is_open(fd) && flags & MSG_DONTWAIT);
	if (fd == FD_THREADS) {
		check(flags & MSG_TRUNC);
		return recv_datagram(dst, room);
	}
	check(fd == FD_TCP && room > 0);
	if (bytes == 0) {
		errno = host.broken ? host.error : EAGAIN;
		return errno == 0 ? 0 : -1;
	}
	if (bytes > room)
		bytes = room;
	memcpy(dst, host.way, bytes);
	host.in_bytes -= host.in_at;
	memmove(host.in, host.in + host.in_at, host.in_bytes);
	host.in_at = 0;
	check(bytes <= sizeof(host.in) - host.in_bytes);
	memcpy(host.in + host.in_bytes, host.way, bytes);
	host.in_bytes += bytes;
	host.given -= bytes;
	host.way_bytes -= bytes;
	memmove(host.way, host.way + bytes, host.way_bytes);
	return (ssize_t)bytes;
}

/* The thread passes a frame on: it must be the next one of the stream. */
static ssize_t send_frame(const uint8_t *data, size_t bytes)
{
	check((ssize_t)bytes == next_frame());
	check(memcmp(data, host.in + host.in_at, bytes) == 0);
	host.in_at += bytes;
	if (host.drops) {
		errno = EAGAIN;
		return -1;
	}
	check(bytes <= sizeof(host.framed) - host.framed_bytes);
	memcpy(host.framed + host.framed_bytes, data, bytes);
	host.framed_bytes += bytes;
	return (ssize_t)bytes;
}

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
	check(is_open(fd));
	if (fd == FD_THREADS)
		return send_frame(data, bytes);
	check(fd == FD_TCP && flags & MSG_NOSIGNAL);
	check(bytes == host.out_bytes && memcmp(data, host.out, bytes) == 0);
	if (host.broken || host.take == 0) {
		errno = !host.broken ? EAGAIN : host.error ? host.error : EPIPE;
		return -1;
	}
	if (bytes > host.take)
		bytes = host.take;
	host.take -= bytes;
	host.out_bytes -= bytes;
	memmove(host.out, host.out + bytes, host.out_bytes);
	return (ssize_t)bytes;
}

/* ---- what happens ---- */

static void run(struct epoll_event event)
{
	thread.event = event;
	thread.due = true;
	if (setjmp(thread.back) == 0)
		thread.routine(thread.routine_arg);
}

/* Nothing that could be done waits, what waits wakes the thread, and a connection is
 * given up for a reason only. */
static void check_settled(void)
{
	check(host.queued == 0);
	if (turn_stream_reason(host.stream)) {
		check(!host.watched);
		check(host.refused || host.broken || next_frame() < 0);
		return;
	}
	check(host.watched && next_frame() == 0 && host.given == 0);
	if (host.connected)
		check(host.out_bytes == 0 || host.take == 0);
	check(!(host.watch.events & EPOLLOUT) ==
	      (host.connected && host.out_bytes == 0));
}

/* An event of the connection, if the thread wants to know. */
static void run_tcp(unsigned events)
{
	struct epoll_event event = host.watch;

	event.events &= events | EPOLLERR | EPOLLHUP;
	if (host.broken)
		event.events |= EPOLLHUP;
	if (!host.watched || event.events == 0)
		return;
	if (host.queued > 0) /* both wake the thread */
		run(host.watch_pair);
	host.connected = !host.refused;
	run(event);
	check(host.connected || turn_stream_reason(host.stream));
	check_settled();
}

void host_open(bool refused)
{
	struct turn_stream_params params = {.name = "turn.example.org"};
	struct sockaddr_in *in = (struct sockaddr_in *)&params.server.ss;

	if (!thread.streams) {
		thread.captures = true;
		check(turn_streams_new(&thread.streams) == 0);
		thread.captures = false;
	}
	host.refused = refused ? ECONNREFUSED : 0;
	host.connected = host.drops = host.broken = false;
	host.take = SIZE_MAX;
	host.given = host.sent = 0;
	host.way_bytes = host.in_at = host.in_bytes = host.out_bytes = 0;
	host.framed_bytes = host.framed_at = host.queued = 0;
	in->sin_family = AF_INET;
	params.server.len = sizeof(*in);
	params.local = params.server;
	check(turn_stream_open(&host.stream, thread.streams, &params) == 0);
	check(turn_stream_fd(host.stream) == FD_OURS);
	check(host.watched && host.watch.events == (EPOLLIN | EPOLLOUT));
}

void host_close(void)
{
	const char *reason = turn_stream_reason(host.stream);

	turn_stream_close(host.stream);
	run((struct epoll_event){.events = EPOLLIN, .data.u64 = 0});
	check(host.open == 0);
	if (!reason) /* what was sent before has been written */
		check(host.queued == 0 &&
		      (host.out_bytes == 0 || host.take == 0 ||
		       !host.connected || host.broken));
	host.watched = false;
}

const char *host_reason(void)
{
	return turn_stream_reason(host.stream);
}

void host_datagram(const uint8_t *data, size_t bytes, bool later)
{
	if (host.queued == QUEUE_MAX)
		return; /* the socket is full */
	check(bytes <= DATAGRAM_BYTES);
	host.queue[host.queued].bytes = bytes;
	memcpy(host.queue[host.queued++].data, data, bytes);
	if (later)
		return;
	run(host.watch_pair);
	check_settled();
}

void host_take(size_t bytes)
{
	host.take = bytes;
	run_tcp(EPOLLOUT);
}

void host_send(const uint8_t *data, size_t bytes)
{
	if (bytes > sizeof(host.way) - host.way_bytes ||
	    bytes > SENT_BYTES_MAX - host.sent)
		return;
	memcpy(host.way + host.way_bytes, data, bytes);
	host.way_bytes += bytes;
	host.sent += bytes;
}

void host_arrive(size_t bytes, bool drop)
{
	host.drops = drop;
	host.given = bytes < host.way_bytes ? bytes : host.way_bytes;
	if (host.given > 0)
		run_tcp(EPOLLIN);
}

void host_break(int error)
{
	host.broken = true;
	host.error = error;
	run_tcp(EPOLLIN);
	check(turn_stream_reason(host.stream));
}

size_t host_frame(const uint8_t **ret)
{
	ssize_t bytes = frame_bytes(host.framed + host.framed_at,
				    host.framed_bytes - host.framed_at);

	if (bytes <= 0) {
		host.framed_bytes = host.framed_at = 0;
		return 0;
	}
	*ret = host.framed + host.framed_at;
	host.framed_at += (size_t)bytes;
	return (size_t)bytes;
}
