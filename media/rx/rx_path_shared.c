#include "media/rx/rx_path_shared.h"

#include "base/big_endian.h"
#include "media/rx/rx_datagram.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* Messages of one recvmmsg(). A joined one is as long as a datagram can be. */
#define MESSAGES_MAX        64
#define JOINED_MESSAGES_MAX 16
#define JOINED_BYTES        65536
#define BUFFER_BYTES        (JOINED_MESSAGES_MAX * JOINED_BYTES)
/* A flood must not hold the thread. */
#define BATCHES_MAX 16
/* Datagrams whose sessions are looked up, and prefetched, together. */
#define AHEAD 64

_Static_assert(MESSAGES_MAX *DATAGRAM_BYTES <= BUFFER_BYTES, "room");

struct early {
	bool waits; /* else the place is free */
	bool rtcp;  /* it came to the RTCP socket */
	uint32_t ssrc;
	int64_t mono_ns;
	size_t bytes;
	struct media_addr source;
	uint8_t data[RX_EARLY_BYTES];
};

union control {
	struct cmsghdr head;
	uint8_t bytes[STAMP_SPACE + CMSG_SPACE(sizeof(uint32_t)) +
		      CMSG_SPACE(sizeof(int))];
};

struct rx_shared {
	struct peer_table *table;
	struct rx_session **sessions; /* by slot */
	struct early *early;          /* RX_EARLY_MAX, a ring */
	size_t early_next;            /* to be written, and the oldest */
	size_t early_waiting;
	struct mmsghdr messages[MESSAGES_MAX];
	struct iovec parts[MESSAGES_MAX];
	struct sockaddr_storage sources[MESSAGES_MAX];
	union control controls[MESSAGES_MAX];
	uint8_t *buffer; /* BUFFER_BYTES */
};

int rx_shared_new(struct rx_shared **ret, uint32_t slots)
{
	struct rx_shared *shared = calloc(1, sizeof(*shared));
	int err;

	if (!shared)
		return -ENOMEM;
	shared->sessions = calloc(slots, sizeof(struct rx_session *));
	shared->early = calloc(RX_EARLY_MAX, sizeof(*shared->early));
	shared->buffer = malloc(BUFFER_BYTES);
	err = shared->sessions && shared->early && shared->buffer
		      ? peer_table_new(&shared->table, slots)
		      : -ENOMEM;
	if (err) {
		rx_shared_free(shared);
		return err;
	}
	*ret = shared;
	return 0;
}

struct rx_shared *rx_shared_free(struct rx_shared *shared)
{
	if (shared) {
		peer_table_free(shared->table);
		free(shared->sessions);
		free(shared->early);
		free(shared->buffer);
	}
	free(shared);
	return NULL;
}

/* ---- whose a datagram is ---- */

/* @return false: it has none, neither RTP nor RTCP */
static bool ssrc_of(uint32_t *ret, const uint8_t *data, size_t captured)
{
	enum datagram_class class = datagram_classify(data, captured);

	if (class == DATAGRAM_RTP && captured >= RTP_HEADER_BYTES)
		*ret = be32(data + 8);
	else if (class == DATAGRAM_RTCP && captured >= 8)
		*ret = be32(data + 4);
	else
		return false;
	return true;
}

/* Of what came together from one address. */
struct arrival {
	struct rx_shared_socket *socket;
	struct media_addr source;
	struct peer_addr from;
	int64_t mono_ns;
};

static void deliver(struct rx *rx, struct rx_session *s,
		    const struct arrival *a, uint8_t *data, size_t captured,
		    size_t bytes)
{
	struct datagram d = {
		.socket =
			&s->sockets[a->socket->rtcp ? SOCKET_RTCP : SOCKET_RTP],
		.data = data,
		.captured =
			captured < DATAGRAM_BYTES ? captured : DATAGRAM_BYTES,
		.bytes = bytes,
		.mono_ns = a->mono_ns,
		.source = a->source,
	};

	rx_datagram_arrived(rx, &d);
}

static void keep(const struct arrival *a, uint32_t ssrc, const uint8_t *data,
		 size_t bytes)
{
	struct rx_shared *shared = a->socket->shared;
	struct early *e = &shared->early[shared->early_next];

	shared->early_next = (shared->early_next + 1) % RX_EARLY_MAX;
	shared->early_waiting += !e->waits;
	e->waits = true;
	e->rtcp = a->socket->rtcp;
	e->ssrc = ssrc;
	e->mono_ns = a->mono_ns;
	e->bytes = bytes;
	e->source = a->source;
	memcpy(e->data, data, bytes);
}

/* It counts as of no session, until one claims it. */
static void strange(struct rx *rx, const struct arrival *a, const uint8_t *data,
		    size_t captured, size_t bytes)
{
	uint32_t ssrc;

	COUNTER_ADD(&rx->counters.unassigned, 1);
	if (captured == bytes && bytes <= RX_EARLY_BYTES &&
	    ssrc_of(&ssrc, data, captured))
		keep(a, ssrc, data, bytes);
}

static struct rx_session *session_of(struct rx_shared *shared,
				     const struct arrival *a,
				     const uint8_t *data, size_t captured)
{
	uint32_t ssrc, slot;

	if (!ssrc_of(&ssrc, data, captured) ||
	    !peer_table_find(shared->table, &a->from, ssrc, &slot))
		return NULL;
	return shared->sessions[slot];
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Datagrams of the same size, the last one perhaps shorter.
 * @param captured  of `bytes` */
static void arrived(struct rx *rx, const struct arrival *a, uint8_t *data,
		    size_t captured, size_t bytes, size_t segment)
{
	struct rx_session *found[AHEAD];
	size_t at = 0;

	if (bytes == 0)
		strange(rx, a, data, 0, 0);
	while (at < bytes) {
		size_t count = 0;

		for (size_t i = at; count < AHEAD && i < bytes; i += segment) {
			size_t rest = i < captured ? captured - i : 0;

			found[count] =
				session_of(a->socket->shared, a, data + i,
					   smaller(rest, segment));
			if (found[count])
				prefetch(found[count], PREFETCH_LINE);
			count++;
		}
		for (size_t i = 0; i < count; i++, at += segment) {
			size_t rest = at < captured ? captured - at : 0;
			size_t held = smaller(rest, segment);
			size_t size = smaller(bytes - at, segment);

			if (found[i])
				deliver(rx, found[i], a, data + at, held, size);
			else
				strange(rx, a, data + at, held, size);
		}
	}
}

/* A session's peer is known now: what it sent before is of the session. */
static void early_read(struct rx *rx, struct rx_session *s)
{
	struct rx_shared *shared = s->shared[SOCKET_RTP]->shared;
	int64_t since_ns = clock_mono_ns() - RX_EARLY_NS;

	if (shared->early_waiting > 0)
		stamp_clock_read(&rx->clock);
	for (size_t i = 0; shared->early_waiting > 0 && i < RX_EARLY_MAX; i++) {
		struct early *e =
			&shared->early[(shared->early_next + i) % RX_EARLY_MAX];
		struct arrival a = {.source = e->source, .mono_ns = e->mono_ns};
		uint32_t slot;

		if (!e->waits)
			continue;
		if (e->mono_ns < since_ns) { /* it stays counted */
			e->waits = false;
			shared->early_waiting--;
			continue;
		}
		if (!peer_addr_of(&a.from, &e->source) ||
		    !peer_table_find(shared->table, &a.from, e->ssrc, &slot) ||
		    slot != s->slot)
			continue;
		e->waits = false;
		shared->early_waiting--;
		COUNTER_SUB(&rx->counters.unassigned, 1);
		a.socket = s->shared[e->rtcp ? SOCKET_RTCP : SOCKET_RTP];
		deliver(rx, s, &a, e->data, e->bytes, e->bytes);
	}
}

/* ---- reading ---- */

/* Read the control messages. @return size of a joined datagram; 0: it is one */
static size_t control_read(struct rx *rx, struct rx_shared_socket *socket,
			   struct msghdr *h, int64_t *ret_ns)
{
	int segment = 0;

	*ret_ns = rx->clock.mono_ns;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (stamp_take(ret_ns, c, &rx->clock))
			continue;
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			rx_drops_seen(rx, &socket->drops, drops);
		} else if (c->cmsg_level == IPPROTO_UDP &&
			   c->cmsg_type == UDP_GRO) {
			memcpy(&segment, CMSG_DATA(c), sizeof(segment));
		}
	}
	return segment > 0 ? (size_t)segment : 0;
}

static void message_read(struct rx *rx, struct rx_shared_socket *socket,
			 unsigned i, size_t room)
{
	struct rx_shared *shared = socket->shared;
	struct msghdr *h = &shared->messages[i].msg_hdr;
	size_t bytes = shared->messages[i].msg_len;
	struct arrival a = {.socket = socket};
	size_t segment = control_read(rx, socket, h, &a.mono_ns);

	a.source.len = h->msg_namelen;
	memcpy(&a.source.ss, &shared->sources[i],
	       smaller(h->msg_namelen, sizeof(a.source.ss)));
	peer_addr_of(&a.from, &a.source);
	arrived(rx, &a, shared->buffer + i * room, smaller(bytes, room), bytes,
		segment ? segment : bytes);
}

/* @return messages read; less than asked for: the queue is empty */
static unsigned batch_read(struct rx *rx, struct rx_shared_socket *socket,
			   unsigned max)
{
	struct rx_shared *shared = socket->shared;
	size_t room = socket->joined ? JOINED_BYTES : DATAGRAM_BYTES;
	int count;

	for (unsigned i = 0; i < max; i++) {
		shared->parts[i] =
			(struct iovec){shared->buffer + i * room, room};
		shared->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &shared->sources[i],
			.msg_namelen = sizeof(shared->sources[i]),
			.msg_iov = &shared->parts[i],
			.msg_iovlen = 1,
			.msg_control = &shared->controls[i],
			.msg_controllen = sizeof(shared->controls[i]),
		};
	}
	/* MSG_TRUNC: msg_len is the true size of a cut datagram */
	count = recvmmsg(socket->fd, shared->messages, max,
			 MSG_DONTWAIT | MSG_TRUNC, NULL);
	if (count <= 0)
		return 0;
	stamp_clock_read(&rx->clock);
	for (int i = 0; i < count; i++)
		message_read(rx, socket, (unsigned)i, room);
	return (unsigned)count;
}

/* @return more may wait */
static bool shared_read(struct rx *rx, struct rx_source *source)
{
	struct rx_shared_socket *socket = (struct rx_shared_socket *)source;
	unsigned max = socket->joined ? JOINED_MESSAGES_MAX : MESSAGES_MAX;

	for (int i = 0; i < BATCHES_MAX; i++) {
		unsigned count = batch_read(rx, socket, max);

		rx->pace.events += count;
		if (count < max) {
			socket->turn = rx->turn;
			return false;
		}
	}
	return true;
}

/* ---- sessions ---- */

static void shared_add(struct rx *rx, struct rx_session *s)
{
	s->shared[SOCKET_RTP]->shared->sessions[s->slot] = s;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		struct rx_shared_socket *socket = s->shared[i];
		struct epoll_event event = {
			.events = EPOLLIN,
			.data.ptr = socket,
		};

		/* It fails only for want of kernel memory; then nothing is
		 * received, which the measurement shows. */
		if (!socket->watched)
			socket->watched =
				epoll_ctl(rx->p.epoll_fd, EPOLL_CTL_ADD,
					  socket->fd, &event) == 0;
	}
}

static void shared_settle(struct rx *rx, struct rx_session *s,
			  const struct rx_command *c)
{
	struct peer_told peer;

	rx_command_peer(&peer, c);
	/* the loop's table has accepted it */
	(void)peer_table_settle(s->shared[SOCKET_RTP]->shared->table, s->slot,
				&peer);
	early_read(rx, s);
}

static void shared_linger(struct rx *rx, struct rx_session *s)
{
	(void)rx;
	peer_table_end(s->shared[SOCKET_RTP]->shared->table, s->slot);
}

/* What had arrived belongs to the call. Sessions that end in the same turn find
 * their sockets read. */
static void socket_empty(struct rx *rx, struct rx_shared_socket *socket)
{
	bool waiting;
	uint32_t drops;

	if (socket->turn == rx->turn)
		return;
	shared_read(rx, &socket->source);
	if (socket_queue_look(socket->fd, &waiting, &drops) == 0)
		rx_drops_seen(rx, &socket->drops, drops);
}

static void shared_stop(struct rx *rx, struct rx_session *s)
{
	struct rx_shared *shared = s->shared[SOCKET_RTP]->shared;

	for (int i = 0; i < SOCKET_COUNT; i++)
		socket_empty(rx, s->shared[i]);
	peer_table_remove(shared->table, s->slot);
	shared->sessions[s->slot] = NULL;
}

const struct rx_path rx_path_shared = {
	.add = shared_add,
	.settle = shared_settle,
	.linger = shared_linger,
	.stop = shared_stop,
	.read = shared_read,
};
