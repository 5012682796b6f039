/* Paths over raw sockets: each flow has a UDP socket, and so a port, of its own,
 * but packets of all flows are sent by one raw socket, with IP and UDP headers
 * of ours. "raw-send" receives by the UDP sockets; in "raw" a filter drops what
 * comes to them, and a raw socket a side receives it. */
#include "floor.h"

#include "base/big_endian.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH      64
#define IP_BYTES   20
#define UDP_BYTES  8
#define ROOM_BYTES 512
#define SIDES      2

struct message {
	struct iovec iov;
	_Alignas(struct cmsghdr) uint8_t control[128];
	uint8_t data[ROOM_BYTES];
};

struct raw_out {
	int fd;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH][2];
	struct sockaddr_in to[BATCH];
	uint8_t headers[BATCH][IP_BYTES + UDP_BYTES];
};

struct raw_in {
	int fds[SIDES]; /* as two engines would have */
	uint32_t drops[SIDES];
	struct mmsghdr messages[BATCH];
	struct message slots[BATCH];
};

static uint32_t sum_of(const uint8_t *data, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes; i += 2) {
		uint16_t word;

		memcpy(&word, data + i, sizeof(word));
		sum += word;
	}
	return sum;
}

/* Source: RFC 768, the sum in the byte order of this host (RFC 1071 section 2) */
static void header_write(uint8_t *header, const struct sockaddr_in *from,
			 const struct flow *flow)
{
	const uint16_t bytes = htons(UDP_BYTES + FLOOR_PACKET_BYTES);
	uint32_t sum;
	uint16_t check;

	memcpy(header, &from->sin_port, 2);
	memcpy(header + 2, &flow->to.sin_port, 2);
	memcpy(header + 4, &bytes, 2);
	memset(header + 6, 0, 2);
	sum = sum_of(header, UDP_BYTES) +
	      sum_of(flow->data, sizeof(flow->data)) +
	      sum_of((const uint8_t *)&from->sin_addr, 4) +
	      sum_of((const uint8_t *)&flow->to.sin_addr, 4) +
	      htons(IPPROTO_UDP) + bytes;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	check = (uint16_t)~sum;
	memcpy(header + 6, &check, 2);
}

/* The kernel writes length, checksum and identification (raw(7)). */
static void ip_header_write(uint8_t *header, const struct sockaddr_in *from,
			    const struct flow *flow)
{
	memset(header, 0, IP_BYTES);
	header[0] = 0x45;
	header[8] = 64;
	header[9] = IPPROTO_UDP;
	memcpy(header + 12, &from->sin_addr, 4);
	memcpy(header + 16, &flow->to.sin_addr, 4);
}

static void raw_send(struct floor *f, struct flow **flows, uint32_t count)
{
	struct raw_out *r = f->out;

	for (uint32_t at = 0; at < count; at += BATCH) {
		uint32_t n = count - at < BATCH ? count - at : BATCH;
		int64_t now_ns;
		int sent;

		for (uint32_t i = 0; i < n; i++) {
			struct flow *flow = flows[at + i];

			floor_next(flow);
			ip_header_write(r->headers[i],
					&f->addresses[flow->socket], flow);
			header_write(r->headers[i] + IP_BYTES,
				     &f->addresses[flow->socket], flow);
			r->to[i] = flow->to;
			r->to[i].sin_port = 0;
			r->parts[i][0].iov_base = r->headers[i];
			r->parts[i][0].iov_len = IP_BYTES + UDP_BYTES;
			r->parts[i][1].iov_base = flow->data;
			r->parts[i][1].iov_len = sizeof(flow->data);
			r->messages[i].msg_hdr = (struct msghdr){
				.msg_name = &r->to[i],
				.msg_namelen = sizeof(r->to[i]),
				.msg_iov = r->parts[i],
				.msg_iovlen = 2,
			};
		}
		sent = sendmmsg(r->fd, r->messages, n, 0);
		now_ns = clock_mono_ns();
		for (uint32_t i = 0; i < n; i++)
			floor_sent(f, flows[at + i], now_ns, (int)i < sent);
	}
}

static void slots_reset(struct raw_in *r, int used)
{
	for (int i = 0; i < used; i++) {
		struct msghdr *h = &r->messages[i].msg_hdr;

		r->slots[i].iov.iov_base = r->slots[i].data;
		r->slots[i].iov.iov_len = ROOM_BYTES;
		h->msg_iov = &r->slots[i].iov;
		h->msg_iovlen = 1;
		h->msg_control = r->slots[i].control;
		h->msg_controllen = sizeof(r->slots[i].control);
	}
}

static void message_read(struct floor *f, int side, struct msghdr *h,
			 const uint8_t *data, size_t bytes)
{
	struct raw_in *r = f->in;
	int64_t wall_ns = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec t;

			memcpy(&t, CMSG_DATA(c), sizeof(t));
			wall_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
		} else if (c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			f->drops += drops - r->drops[side];
			r->drops[side] = drops;
		}
	}
	if (bytes > IP_BYTES + UDP_BYTES)
		floor_arrived(f, data + IP_BYTES + UDP_BYTES,
			      bytes - IP_BYTES - UDP_BYTES, wall_ns);
}

static void raw_receive(struct floor *f, int wait_ms)
{
	struct raw_in *r = f->in;

	(void)wait_ms;
	for (int side = 0; side < SIDES; side++) {
		int count;

		do {
			count = recvmmsg(r->fds[side], r->messages, BATCH,
					 MSG_DONTWAIT, NULL);
			for (int i = 0; i < count; i++)
				message_read(f, side, &r->messages[i].msg_hdr,
					     r->slots[i].data,
					     r->messages[i].msg_len);
			if (count > 0)
				slots_reset(r, count);
		} while (count == BATCH);
	}
}

static int filter(int fd, struct sock_filter *code, unsigned short count)
{
	const struct sock_fprog program = {.len = count, .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			  sizeof(program))
		       ? -errno
		       : 0;
}

/* Take what is sent to the ports of a side: a side has even or odd flows. */
static int rx_open(struct raw_in *r, const struct floor *f, int side)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, IP_BYTES + 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const int buffer = 4 << 20;
	const int on = 1;
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);

	r->fds[side] = fd;
	if (fd < 0)
		return -errno;
	code[1].k = ntohs(f->addresses[(uint32_t)side * f->calls].sin_port);
	code[2].k = ntohs(
		f->addresses[(uint32_t)(side + 1) * f->calls - 1].sin_port);
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)))
		return -errno;
	return filter(fd, code, sizeof(code) / sizeof(code[0]));
}

static int out_open(struct floor *f)
{
	struct raw_out *r = calloc(1, sizeof(*r));

	f->out = r;
	if (!r)
		return -ENOMEM;
	/* of this protocol nothing is received */
	r->fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	return r->fd < 0 ? -errno : 0;
}

static int in_open(struct floor *f)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct raw_in *r = calloc(1, sizeof(*r));
	int err = 0;

	f->in = r;
	if (!r)
		return -ENOMEM;
	for (int side = 0; side < SIDES; side++)
		r->fds[side] = -1;
	slots_reset(r, BATCH);
	for (int side = 0; side < SIDES && !err; side++)
		err = rx_open(r, f, side);
	for (uint32_t i = 0; i < f->socket_count && !err; i++)
		err = filter(f->sockets[i], &nothing, 1);
	return err;
}

static void out_close(struct floor *f)
{
	struct raw_out *r = f->out;

	if (r && r->fd >= 0)
		close(r->fd);
	free(r);
}

static void in_close(struct floor *f)
{
	struct raw_in *r = f->in;

	for (int side = 0; r && side < SIDES; side++) {
		if (r->fds[side] >= 0)
			close(r->fds[side]);
	}
	free(r);
}

const struct floor_path floor_raw = {
	.name = "raw",
	.does = "a port a flow, but all over raw sockets: sendmmsg(), "
		"recvmmsg() of up to 64; CAP_NET_RAW",
	.ordered = true,
	.out_open = out_open,
	.in_open = in_open,
	.send = raw_send,
	.receive = raw_receive,
	.out_close = out_close,
	.in_close = in_close,
};

const struct floor_path floor_raw_send = {
	.name = "raw-send",
	.does = "sends as raw, receives as socket; CAP_NET_RAW",
	.ordered = true,
	.out_open = out_open,
	.in_open = floor_sockets_open,
	.send = raw_send,
	.receive = floor_sockets_receive,
	.out_close = out_close,
	.in_close = floor_sockets_close,
};
