/* The media path with a socket a call: each socket is in the epoll set and has one
 * session. */
#include "media/rx/rx_datagram.h"

#include <string.h>
#include <sys/epoll.h>

/* Batches read from a socket when its session stops. */
#define STOP_BATCHES_MAX 64

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
			rx_drops_seen(rx, &socket->drops, drops);
		}
	}
	return mono_ns;
}

void rx_slots_reset(struct rx *rx, int used)
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
	rx_slots_reset(rx, count);
	return count;
}

/* Asking for more datagrams than wait costs the kernel a second look: ask for
 * one, and for twice as many as before if the turn before read this socket, too.
 * @return more may wait */
static bool call_read(struct rx *rx, struct rx_source *source)
{
	struct rx_socket *socket = (struct rx_socket *)source;
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

/* Sockets, then connections to TURN servers. */
#define READ_COUNT (2 * SOCKET_COUNT)

static struct rx_socket *read_at(struct rx_session *s, size_t i)
{
	return i < SOCKET_COUNT ? &s->sockets[i]
				: &s->streams[i - SOCKET_COUNT];
}

static void call_add(struct rx *rx, struct rx_session *s)
{
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
		rx_drops_seen(rx, &socket->drops, drops);
}

static void call_stop(struct rx *rx, struct rx_session *s)
{
	for (size_t i = 0; i < READ_COUNT; i++) {
		struct rx_socket *socket = read_at(s, i);

		if (socket->fd >= 0)
			socket_stop(rx, socket);
	}
}

static void call_settle(struct rx *rx, struct rx_session *s,
			const struct rx_command *c)
{
	(void)rx; /* a socket's datagrams are its session's, whoever sent them */
	(void)s;
	(void)c;
}

static void call_linger(struct rx *rx, struct rx_session *s)
{
	(void)rx;
	(void)s;
}

const struct rx_path rx_path_call = {
	.add = call_add,
	.settle = call_settle,
	.linger = call_linger,
	.stop = call_stop,
	.read = call_read,
};
