/* Paths over UDP sockets. */
#include "floor.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH        64
#define SEGMENTS     60 /* of a GSO send: the kernel's limit is 64 */
#define LARGE_BYTES  16384
#define EVENTS       256
#define BUSY_POLL_US 50

struct message {
	struct iovec iov;
	_Alignas(struct cmsghdr) uint8_t control[128];
	uint8_t data[LARGE_BYTES];
};

struct udp_in {
	int epoll_fd;
	uint32_t *drops; /* by socket: SO_RXQ_OVFL last seen */
	struct mmsghdr messages[BATCH];
	struct message slots[BATCH];
	uint32_t next; /* phase of a sweep */
};

struct udp_out {
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
};

/* ---- receiving ---- */

static void slots_reset(struct udp_in *u, int used)
{
	for (int i = 0; i < used; i++) {
		struct msghdr *h = &u->messages[i].msg_hdr;

		u->slots[i].iov.iov_base = u->slots[i].data;
		u->slots[i].iov.iov_len = LARGE_BYTES;
		h->msg_iov = &u->slots[i].iov;
		h->msg_iovlen = 1;
		h->msg_control = u->slots[i].control;
		h->msg_controllen = sizeof(u->slots[i].control);
	}
}

static void message_read(struct floor *f, uint32_t socket, struct msghdr *h,
			 const uint8_t *data, size_t bytes)
{
	struct udp_in *u = f->in;
	size_t segment = bytes;
	int64_t wall_ns = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec t;

			memcpy(&t, CMSG_DATA(c), sizeof(t));
			wall_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
		} else if (c->cmsg_level == SOL_SOCKET &&
			   c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			f->drops += drops - u->drops[socket];
			u->drops[socket] = drops;
		} else if (c->cmsg_level == IPPROTO_UDP &&
			   c->cmsg_type == UDP_GRO) {
			int size;

			memcpy(&size, CMSG_DATA(c), sizeof(size));
			segment = (size_t)size;
		}
	}
	for (size_t at = 0; at < bytes; at += segment)
		floor_arrived(f, data + at,
			      bytes - at < segment ? bytes - at : segment,
			      wall_ns);
}

/* @return messages */
static int socket_read(struct floor *f, uint32_t socket, unsigned max)
{
	struct udp_in *u = f->in;
	int count = recvmmsg(f->sockets[socket], u->messages, max, MSG_DONTWAIT,
			     NULL);

	for (int i = 0; i < count; i++)
		message_read(f, socket, &u->messages[i].msg_hdr,
			     u->slots[i].data, u->messages[i].msg_len);
	if (count > 0)
		slots_reset(u, count);
	return count;
}

void floor_sockets_receive(struct floor *f, int wait_ms)
{
	struct udp_in *u = f->in;
	struct epoll_event events[EVENTS];
	int count;

	do {
		count = epoll_wait(u->epoll_fd, events, EVENTS, wait_ms);
		for (int i = 0; i < count; i++)
			socket_read(f, events[i].data.u32, 1);
		wait_ms = 0;
	} while (count == EVENTS);
}

/* Each turn of 1 ms reads every twentieth socket, without asking which have a
 * packet. */
static void sweep_receive(struct floor *f, int wait_ms)
{
	struct udp_in *u = f->in;

	(void)wait_ms;
	for (uint32_t i = u->next; i < f->socket_count; i += FLOOR_PHASES)
		while (socket_read(f, i, 1) == 1)
			continue;
	u->next = (u->next + 1) % FLOOR_PHASES;
}

static void shared_receive(struct floor *f, int wait_ms)
{
	(void)wait_ms;
	for (uint32_t i = 0; i < f->socket_count; i++)
		while (socket_read(f, i, BATCH) == BATCH)
			continue;
}

/* ---- sending ---- */

void floor_each_send(struct floor *f, struct flow **flows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct flow *flow = flows[i];
		int64_t now_ns = clock_mono_ns();

		floor_next(flow);
		floor_sent(f, flow, now_ns,
			   sendto(f->sockets[flow->socket], flow->data,
				  sizeof(flow->data), 0,
				  (const struct sockaddr *)&flow->to,
				  sizeof(flow->to)) ==
				   (ssize_t)sizeof(flow->data));
	}
}

/* @return how many of the flows have this socket: up to max, moved to `chosen`
 * and taken out of `flows` */
static uint32_t choose(struct flow **flows, uint32_t *count, uint32_t socket,
		       struct flow **chosen, uint32_t max)
{
	uint32_t left = 0;
	uint32_t found = 0;

	for (uint32_t i = 0; i < *count; i++) {
		if (flows[i]->socket == socket && found < max)
			chosen[found++] = flows[i];
		else
			flows[left++] = flows[i];
	}
	*count = left;
	return found;
}

static void batch_send(struct floor *f, struct flow **flows, uint32_t count)
{
	struct udp_out *u = f->out;
	struct flow *chosen[BATCH];

	while (count > 0) {
		uint32_t socket = flows[0]->socket;
		uint32_t found = choose(flows, &count, socket, chosen, BATCH);
		int sent;
		int64_t now_ns;

		for (uint32_t i = 0; i < found; i++) {
			floor_next(chosen[i]);
			u->parts[i].iov_base = chosen[i]->data;
			u->parts[i].iov_len = sizeof(chosen[i]->data);
			u->messages[i].msg_hdr = (struct msghdr){
				.msg_name = &chosen[i]->to,
				.msg_namelen = sizeof(chosen[i]->to),
				.msg_iov = &u->parts[i],
				.msg_iovlen = 1,
			};
		}
		sent = sendmmsg(f->sockets[socket], u->messages, found, 0);
		now_ns = clock_mono_ns();
		for (uint32_t i = 0; i < found; i++)
			floor_sent(f, chosen[i], now_ns, (int)i < sent);
	}
}

static void gso_send(struct floor *f, struct flow **flows, uint32_t count)
{
	struct udp_out *u = f->out;
	struct flow *chosen[SEGMENTS];
	union {
		struct cmsghdr head;
		uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
	} control = {.bytes = {0}};
	const uint16_t size = FLOOR_PACKET_BYTES;

	control.head.cmsg_level = IPPROTO_UDP;
	control.head.cmsg_type = UDP_SEGMENT;
	control.head.cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(&control.head), &size, sizeof(size));
	while (count > 0) {
		uint32_t socket = flows[0]->socket;
		/* flows of a socket have one peer */
		uint32_t found =
			choose(flows, &count, socket, chosen, SEGMENTS);
		struct msghdr h = {
			.msg_name = &chosen[0]->to,
			.msg_namelen = sizeof(chosen[0]->to),
			.msg_iov = u->parts,
			.msg_iovlen = found,
			.msg_control = &control,
			.msg_controllen = sizeof(control.bytes),
		};
		ssize_t sent;
		int64_t now_ns;

		for (uint32_t i = 0; i < found; i++) {
			floor_next(chosen[i]);
			u->parts[i].iov_base = chosen[i]->data;
			u->parts[i].iov_len = sizeof(chosen[i]->data);
		}
		sent = sendmsg(f->sockets[socket], &h, 0);
		now_ns = clock_mono_ns();
		for (uint32_t i = 0; i < found; i++)
			floor_sent(f, chosen[i], now_ns, sent >= 0);
	}
}

/* ---- */

int floor_each_open(struct floor *f)
{
	f->out = calloc(1, sizeof(struct udp_out));
	return f->out ? 0 : -ENOMEM;
}

void floor_each_close(struct floor *f)
{
	free(f->out);
}

int floor_sockets_open(struct floor *f)
{
	struct udp_in *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	f->in = u;
	/* one more: there are never none */
	u->drops = calloc(f->socket_count + 1u, sizeof(*u->drops));
	u->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!u->drops || u->epoll_fd < 0)
		return -ENOMEM;
	slots_reset(u, BATCH);
	for (uint32_t i = 0; !f->path->shares && i < f->socket_count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

		if (epoll_ctl(u->epoll_fd, EPOLL_CTL_ADD, f->sockets[i],
			      &event))
			return -errno;
	}
	return 0;
}

void floor_sockets_close(struct floor *f)
{
	struct udp_in *u = f->in;

	if (!u)
		return;
	if (u->epoll_fd >= 0)
		close(u->epoll_fd);
	free(u->drops);
	free(u);
}

static int gro_open(struct floor *f)
{
	const int on = 1;

	for (uint32_t i = 0; i < f->socket_count; i++) {
		if (setsockopt(f->sockets[i], IPPROTO_UDP, UDP_GRO, &on,
			       sizeof(on)))
			return -errno;
	}
	return floor_sockets_open(f);
}

/* While the RX thread would wait, the kernel polls the network device for packets
 * (socket(7), SO_BUSY_POLL). Loopback has no device to poll. */
static int busy_open(struct floor *f)
{
	const int poll_us = BUSY_POLL_US;

	for (uint32_t i = 0; i < f->socket_count; i++) {
		if (setsockopt(f->sockets[i], SOL_SOCKET, SO_BUSY_POLL,
			       &poll_us, sizeof(poll_us)))
			return -errno;
	}
	return floor_sockets_open(f);
}

const struct floor_path floor_socket = {
	.name = "socket",
	.does = "a socket a flow: sendto(), epoll_wait() and recvmmsg()",
	.out_open = floor_each_open,
	.in_open = floor_sockets_open,
	.send = floor_each_send,
	.receive = floor_sockets_receive,
	.out_close = floor_each_close,
	.in_close = floor_sockets_close,
};

const struct floor_path floor_busy = {
	.name = "busy",
	.does = "a socket a flow: the same with SO_BUSY_POLL",
	.out_open = floor_each_open,
	.in_open = busy_open,
	.send = floor_each_send,
	.receive = floor_sockets_receive,
	.out_close = floor_each_close,
	.in_close = floor_sockets_close,
};

const struct floor_path floor_sweep = {
	.name = "sweep",
	.does = "a socket a flow: sendto(), recvmmsg() without epoll_wait()",
	.out_open = floor_each_open,
	.in_open = floor_sockets_open,
	.send = floor_each_send,
	.receive = sweep_receive,
	.out_close = floor_each_close,
	.in_close = floor_sockets_close,
};

const struct floor_path floor_batch = {
	.name = "batch",
	.does = "shared sockets: sendmmsg() and recvmmsg() of up to 64",
	.shares = true,
	.out_open = floor_each_open,
	.in_open = floor_sockets_open,
	.send = batch_send,
	.receive = shared_receive,
	.out_close = floor_each_close,
	.in_close = floor_sockets_close,
};

const struct floor_path floor_gso = {
	.name = "gso",
	.does = "shared sockets: UDP_SEGMENT of up to 60, UDP_GRO",
	.shares = true,
	.out_open = floor_each_open,
	.in_open = gro_open,
	.send = gso_send,
	.receive = shared_receive,
	.out_close = floor_each_close,
	.in_close = floor_sockets_close,
};
