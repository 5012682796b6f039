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

/* ---- turns ---- */

/* Sessions lie far apart and are in no cache: prefetch what reading the next
 * datagrams will touch. */
static void prefetch_ahead(const struct rx *rx,
			   const struct epoll_event *events, int left)
{
	const struct rx_source *later = left > 2 ? events[2].data.ptr : NULL;
	const struct rx_source *next = left > 1 ? events[1].data.ptr : NULL;

	if (later)
		prefetch(later, PREFETCH_LINE);
	if (next && events[1].data.ptr != rx->p.tap &&
	    next->path == &rx_path_call)
		prefetch(((const struct rx_socket *)next)->session,
			 PREFETCH_LINE);
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

static void session_stop(struct rx *rx, struct rx_session *s)
{
	if (s->tapped)
		rx_tapped_stop(rx, s);
	else
		s->path->stop(rx, s);
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
		if (!s->tapped)
			s->path->add(rx, s);
	} else if (kind == COMMAND_APPLY) {
		peer_know(s, c);
		s->known = c->known;
		events_know(s, c->map);
		if (s->tapped) {
			s->tap_secure = c->encrypted;
		} else {
			rx_secure_apply(s, c, clock_mono_ns());
			rx_stash_read(rx, s);
			s->path->settle(rx, s, c);
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
	if (kind != COMMAND_STOP)
		return;
	if (!s->tapped)
		s->path->linger(rx, s);
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
	rx_slots_reset(rx, BATCH);
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

/* @return more may wait */
static bool source_read(struct rx *rx, struct rx_source *source)
{
	return source->path->read(rx, source);
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
				more |= source_read(rx, events[i].data.ptr);
		}
		rx->turn++;
		if (!more)
			pace(rx, now_ns, count);
		wait_ms = linger_check(rx);
	}
	return NULL;
}
