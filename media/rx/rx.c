/* The RX thread: every RTP and RTCP socket of the engine. */
#include "base/clock.h"
#include "media/rx/rx_datagram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#define EVENTS_MAX 256
/* An epoll_wait() longer than this had nothing to do. */
#define IDLE_NS (50 * NS_PER_US)

/* From PACE_EVENTS packets in PACE_WINDOW_NS on, turns are at least PACE_NS
 * apart. */
#define PACE_WINDOW_NS (20 * NS_PER_MS)
#define PACE_EVENTS    40
#define PACE_NS        NS_PER_MS

/* Batches read from a socket when its session stops. */
#define STOP_BATCHES_MAX 64

static void drops_seen(struct rx *rx, struct rx_socket *socket, uint32_t drops)
{
	/* the socket's counter wraps at 2^32 */
	uint32_t more = drops - socket->drops;

	if (more > 0)
		COUNTER_ADD(&rx->counters.queue_drops, more);
	socket->drops = drops;
}

/* Read the control messages: receive time and the socket's drops. */
static int64_t control_read(struct rx *rx, struct rx_socket *socket,
			    struct msghdr *header)
{
	int64_t mono_ns = rx->clock.mono_ns;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c;
	     c = CMSG_NXTHDR(header, c)) {
		if (!stamp_take(&mono_ns, c, &rx->clock) &&
		    c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			drops_seen(rx, socket, drops);
		}
	}
	return mono_ns;
}

static void slots_reset(struct rx *rx, int used)
{
	for (int i = 0; i < used; i++) {
		struct msghdr *header = &rx->messages[i].msg_hdr;
		struct slot *slot = &rx->slots[i];

		slot->iov.iov_base = slot->data;
		slot->iov.iov_len = sizeof(slot->data);
		header->msg_name = &slot->source;
		header->msg_namelen = sizeof(slot->source);
		header->msg_iov = &slot->iov;
		header->msg_iovlen = 1;
		header->msg_control = slot->control;
		header->msg_controllen = sizeof(slot->control);
	}
}

/* @return datagrams read; less than `max`: the queue is empty */
static int batch_read(struct rx *rx, struct rx_socket *socket, unsigned max)
{
	/* MSG_TRUNC: msg_len is the true size of a cut datagram */
	int count = recvmmsg(socket->fd, rx->messages, max,
			     MSG_DONTWAIT | MSG_TRUNC, NULL);

	if (count <= 0)
		return 0;
	stamp_clock_read(&rx->clock);
	for (int i = 0; i < count; i++) {
		struct msghdr *header = &rx->messages[i].msg_hdr;
		struct datagram d = {
			.socket = socket,
			.data = rx->slots[i].data,
			.bytes = rx->messages[i].msg_len,
			.mono_ns = control_read(rx, socket, header),
		};

		d.captured =
			d.bytes < DATAGRAM_BYTES ? d.bytes : DATAGRAM_BYTES;
		d.source.len = header->msg_namelen;
		memcpy(&d.source.ss, &rx->slots[i].source, d.source.len);
		rx_datagram_arrived(rx, &d);
	}
	slots_reset(rx, count);
	return count;
}

/* Asking for more datagrams than wait costs the kernel a second look: ask for
 * one, and for twice as many as before if the turn before read this socket, too.
 * @return more may wait */
static bool socket_read(struct rx *rx, struct rx_socket *socket)
{
	bool again = socket->turn + 1 == rx->turn;
	unsigned max = again ? 2 * socket->batch : 1;
	int count;

	if (max > BATCH)
		max = BATCH;
	count = batch_read(rx, socket, max);
	socket->turn = rx->turn;
	socket->batch = count < (int)max ? 1 : (uint8_t)max;
	return max > 1 && count == (int)max;
}

/* ---- turns ---- */

/* Sessions lie far apart and are in no cache: prefetch what reading the next
 * datagrams will touch. */
static void prefetch_ahead(const struct rx *rx,
			   const struct epoll_event *events, int left)
{
	const struct rx_socket *later = left > 2 ? events[2].data.ptr : NULL;
	const struct rx_socket *next = left > 1 ? events[1].data.ptr : NULL;

	if (later)
		prefetch(later, PREFETCH_LINE);
	if (next && events[1].data.ptr != rx->p.tap) {
		prefetch(next->session, PREFETCH_LINE);
	}
}

/* With many packets a turn takes all that came in PACE_NS, instead of waking for
 * each one. The receive times are the kernel's. */
static void pace(struct rx *rx, int64_t turn_ns, int events)
{
	struct rx_pace *p = &rx->pace;
	int64_t next_ns = turn_ns + PACE_NS;
	const struct timespec next = {.tv_sec = next_ns / NS_PER_S,
				      .tv_nsec = next_ns % NS_PER_S};

	p->events += (unsigned)events;
	if (turn_ns - p->window_ns >= PACE_WINDOW_NS) {
		p->on = p->events >= PACE_EVENTS;
		p->window_ns = turn_ns;
		p->events = 0;
	}
	if (p->on)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

/* ---- commands ---- */

/* Sockets, then connections to TURN servers. */
#define READ_COUNT (2 * SOCKET_COUNT)

static struct rx_socket *read_at(struct rx_session *s, size_t i)
{
	return i < SOCKET_COUNT ? &s->sockets[i]
				: &s->streams[i - SOCKET_COUNT];
}

static void session_add(struct rx *rx, struct rx_session *s)
{
	if (s->tapped)
		return;
	for (size_t i = 0; i < READ_COUNT; i++) {
		struct rx_socket *socket = read_at(s, i);
		struct epoll_event event = {
			.events = EPOLLIN,
			.data.ptr = socket,
		};

		/* It fails only for want of kernel memory; then nothing is
		 * received, which the measurement shows. */
		if (socket->fd >= 0)
			epoll_ctl(rx->p.epoll_fd, EPOLL_CTL_ADD, socket->fd,
				  &event);
	}
}

/* What had arrived belongs to the call. Most queues are empty, and looking costs
 * less than reading. */
static void socket_stop(struct rx *rx, struct rx_socket *socket)
{
	bool waiting = true;
	uint32_t drops;
	/* a flood must not hold the thread here */
	int batches = STOP_BATCHES_MAX;
	/* not of a stream: a local socket's data count at their sender */
	bool looked = !socket->stream &&
		      socket_queue_look(socket->fd, &waiting, &drops) == 0;

	if (waiting) {
		while (batch_read(rx, socket, BATCH) == BATCH && --batches > 0)
			continue;
		looked = socket_queue_look(socket->fd, &waiting, &drops) == 0;
	}
	epoll_ctl(rx->p.epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
	if (looked)
		drops_seen(rx, socket, drops);
}

static void session_stop(struct rx *rx, struct rx_session *s)
{
	if (s->tapped)
		rx_tapped_stop(rx, s);
	for (size_t i = 0; i < READ_COUNT && !s->tapped; i++) {
		struct rx_socket *socket = read_at(s, i);

		if (socket->fd >= 0)
			socket_stop(rx, socket);
	}
	rx_stash_discard(rx, s);
	s->end->rx_last_packet = rx->received_pushed;
	s->end->rx_last_rtcp = rx->rtcp_pushed;
	/* release: pairs with the acquire in stopping_check(), publishes the
	 * two counts; the session is not touched after */
	atomic_store_explicit(&s->end->rx_done, true, memory_order_release);
}

/* Sessions that end one after the other are taken together, one waking for all
 * of these ms. */
#define LINGER_STEP_MS 4

/* @return how long epoll may wait for the next one, ms; -1: there is none */
static int linger_check(struct rx *rx)
{
	struct rx_session *s;
	int64_t now_ns, next_ns;

	if (!rx_linger_next(&rx->linger, &next_ns))
		return -1;
	now_ns = clock_mono_ns();
	while ((s = rx_linger_over(&rx->linger, now_ns)) != NULL)
		session_stop(rx, s);
	if (!rx_linger_next(&rx->linger, &next_ns))
		return -1;
	return (int)((next_ns - now_ns) / NS_PER_MS) + LINGER_STEP_MS;
}

static void peer_know(struct rx_session *rx, const struct rx_command *c)
{
	rx->rtcp_peer = c->rtcp;
	rx->rtcp_mux = c->rtcp_mux;
	if (c->any_peer || media_addr_equal(&rx->peer, &c->rtp))
		return;
	rx->peer_before = rx->peer;
	rx->peer = c->rtp;
	rx->peer_ns = c->head.mono_ns;
}

static void events_know(struct rx_session *s, const struct rtp_payload_map *map)
{
	memset(s->event_clock_hz, 0, sizeof(s->event_clock_hz));
	for (size_t i = 0; i < map->count; i++) {
		const struct rtp_payload *p = &map->entries[i];

		if (p->kind == RTP_PAYLOAD_TE)
			s->event_clock_hz[p->pt & PACKET_PT_MASK] = p->clock_hz;
	}
}

static void command_take(struct rx *rx, const struct rx_command *c)
{
	struct rx_session *s = c->session;
	enum command_kind kind = c->head.kind;

	if (kind == COMMAND_ADD) {
		session_add(rx, s);
	} else if (kind == COMMAND_APPLY) {
		peer_know(s, c);
		s->known = c->known;
		events_know(s, c->map);
		if (s->tapped) {
			s->tap_secure = c->encrypted;
		} else {
			rx_secure_apply(s, c, clock_mono_ns());
			rx_stash_read(rx, s);
		}
	} else if (kind == COMMAND_TAP) {
		rx_tapped_read(
			rx); /* datagrams until now are of the session before */
		rx_tapped_assign(rx, s, &c->rtp, &c->rtcp);
	} else if (kind == COMMAND_RELAY) {
		s->sockets[c->socket].relay = c->relay;
		s->streams[c->socket].relay = c->relay;
	} else if (kind == COMMAND_REKEY) {
		rx_secure_rekey(s, clock_mono_ns());
	}
	command_done(&c->head);
	if (kind == COMMAND_STOP)
		rx_linger_start(&rx->linger, s, clock_mono_ns());
}

static void commands_take(struct rx *rx)
{
	struct rx_command *c;

	while (ring_pop(rx->p.thread->commands, &c))
		command_take(rx, c);
}

int rx_new(struct rx **ret, const struct rx_params *params)
{
	struct rx *rx = calloc(1, sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	rx->p = *params;
	if (params->tap) {
		rx->tapped = calloc(params->slots, sizeof(*rx->tapped));
		if (!rx->tapped) {
			free(rx);
			return -ENOMEM;
		}
	}
	slots_reset(rx, BATCH);
	*ret = rx;
	return 0;
}

struct rx *rx_free(struct rx *rx)
{
	if (rx)
		free(rx->tapped);
	free(rx);
	return NULL;
}

const struct rx_counters *rx_counters(const struct rx *rx)
{
	return &rx->counters;
}

/* @param events  room for EVENTS_MAX @param wait_ms  -1: until there is one
 * @return how many there are */
static int events_wait(struct rx *rx, struct epoll_event *events, int wait_ms,
		       int64_t now_ns)
{
	struct media_thread *thread = rx->p.thread;
	bool readable = false;
	int count;

	wake_sleep(&thread->wake,
		   wait_ms < 0 ? WAKE_NEVER : now_ns + wait_ms * NS_PER_MS);
	if (ring_front(thread->commands))
		wait_ms = 0;
	count = epoll_wait(rx->p.epoll_fd, events, EVENTS_MAX, wait_ms);
	for (int i = 0; i < count; i++)
		readable |= !events[i].data.ptr;
	wake_end(&thread->wake, readable);
	return count;
}

void *rx_thread(void *arg)
{
	struct rx *rx = arg;
	struct epoll_event events[EVENTS_MAX];
	struct media_thread *thread = rx->p.thread;
	int wait_ms = -1;

	media_thread_schedule(thread, SCHEDULING_PRIORITY_RX);
	while (!media_thread_quits(thread)) {
		int64_t idle_ns = clock_mono_ns();
		int count = events_wait(rx, events, wait_ms, idle_ns);
		bool more = count == EVENTS_MAX;
		int64_t now_ns = clock_mono_ns();

		scheduling_watch(&thread->scheduling,
				 now_ns - idle_ns > IDLE_NS, now_ns);

		/* Commands first: they may settle the peer of a datagram that
		 * waits, and needed_ns() relies on this order. A stopped
		 * session may be in `events`: it lingers, so it is there. */
		commands_take(rx);
		/* One batch a socket and turn: a flood on one socket does not
		 * starve the others. epoll reports the rest again. */
		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				continue;
			prefetch_ahead(rx, events + i, count - i);
			if (events[i].data.ptr == rx->p.tap)
				rx_tapped_read(rx);
			else
				more |= socket_read(rx, events[i].data.ptr);
		}
		rx->turn++;
		if (!more)
			pace(rx, now_ns, count);
		wait_ms = linger_check(rx);
	}
	return NULL;
}
