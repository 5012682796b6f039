/* The path over AF_PACKET rings on the loopback interface. The UDP sockets hold
 * the ports, so that the kernel does not answer that they are closed; a filter
 * drops what comes to them. */
#include "floor.h"

#include "base/big_endian.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ETHERNET_BYTES 14
#define IP_BYTES       20
#define UDP_BYTES      8
#define HEADERS_BYTES  (ETHERNET_BYTES + IP_BYTES + UDP_BYTES)
#define FRAME_BYTES    512
/* where the kernel expects it, tpacket_snd() of net/packet/af_packet.c */
#define DATA_OFFSET sizeof(struct tpacket2_hdr)
#define FRAMES      4096
#define BLOCK_BYTES (1u << 18)
#define BLOCKS      32u
#define BLOCK_MS    1

struct ring {
	int fd;
	uint8_t *data;
	uint32_t next; /* frame or block */
};

static uint16_t ip_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < IP_BYTES; i += 2)
		sum += be16(header + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void headers_write(const struct floor *f, const struct flow *flow,
			  uint8_t *to)
{
	const struct sockaddr_in *from = &f->addresses[flow->socket];
	uint8_t *ip = to + ETHERNET_BYTES;
	uint8_t *udp = ip + IP_BYTES;

	memset(to, 0, HEADERS_BYTES);
	be16_put(to + 12, ETHERTYPE_IP);
	ip[0] = 0x45;
	be16_put(ip + 2, IP_BYTES + UDP_BYTES + FLOOR_PACKET_BYTES);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, &from->sin_addr, 4);
	memcpy(ip + 16, &flow->to.sin_addr, 4);
	be16_put(ip + 10, ip_checksum(ip));
	memcpy(udp, &from->sin_port, 2);
	memcpy(udp + 2, &flow->to.sin_port, 2);
	be16_put(udp + 4, UDP_BYTES + FLOOR_PACKET_BYTES);
	/* no checksum (RFC 768) */
}

/* @return NULL: the ring is full, as the kernel has not sent it yet */
static uint8_t *frame_next(struct ring *r)
{
	uint8_t *frame = r->data + (size_t)r->next * FRAME_BYTES;
	const struct tpacket2_hdr *h = (const void *)frame;

	if (__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) !=
	    TP_STATUS_AVAILABLE)
		return NULL;
	r->next = (r->next + 1) % FRAMES;
	return frame;
}

static void ring_send(struct floor *f, struct flow **flows, uint32_t count)
{
	struct ring *r = f->out;
	int64_t now_ns;
	uint32_t written = 0;

	for (; written < count; written++) {
		uint8_t *frame = frame_next(r);
		struct tpacket2_hdr *h = (void *)frame;
		uint8_t *data;

		if (!frame)
			break;
		data = frame + DATA_OFFSET;
		headers_write(f, flows[written], data);
		floor_next(flows[written]);
		memcpy(data + HEADERS_BYTES, flows[written]->data,
		       FLOOR_PACKET_BYTES);
		h->tp_len = HEADERS_BYTES + FLOOR_PACKET_BYTES;
		__atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST,
				 __ATOMIC_RELEASE);
	}
	(void)send(r->fd, NULL, 0, MSG_DONTWAIT);
	now_ns = clock_mono_ns();
	for (uint32_t i = 0; i < count; i++)
		floor_sent(f, flows[i], now_ns, i < written);
}

static void block_read(struct floor *f, const struct tpacket_block_desc *b)
{
	const uint8_t *at = (const uint8_t *)b + b->hdr.bh1.offset_to_first_pkt;

	for (uint32_t i = 0; i < b->hdr.bh1.num_pkts; i++) {
		const struct tpacket3_hdr *h = (const void *)at;

		if (h->tp_snaplen >= HEADERS_BYTES)
			floor_arrived(f, at + h->tp_mac + HEADERS_BYTES,
				      h->tp_snaplen - HEADERS_BYTES,
				      h->tp_sec * NS_PER_S + h->tp_nsec);
		at += h->tp_next_offset;
	}
}

static void ring_receive(struct floor *f, int wait_ms)
{
	struct ring *r = f->in;
	struct tpacket_stats_v3 stats;
	socklen_t length = sizeof(stats);

	(void)wait_ms;
	for (;;) {
		struct tpacket_block_desc *b =
			(void *)(r->data + (size_t)r->next * BLOCK_BYTES);

		if (!(__atomic_load_n(&b->hdr.bh1.block_status,
				      __ATOMIC_ACQUIRE) &
		      TP_STATUS_USER))
			break;
		block_read(f, b);
		__atomic_store_n(&b->hdr.bh1.block_status, TP_STATUS_KERNEL,
				 __ATOMIC_RELEASE);
		r->next = (r->next + 1) % BLOCKS;
	}
	if (getsockopt(r->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) ==
	    0)
		f->drops += stats.tp_drops;
}

/* ---- opening ---- */

static int option(int fd, int level, int name, const void *value, size_t bytes)
{
	return setsockopt(fd, level, name, value, (socklen_t)bytes) ? -errno
								    : 0;
}

/* Drop what comes to the sockets. */
static int ports_hold(const struct floor *f)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = {.len = 1, .filter = &drop};
	int err = 0;

	for (uint32_t i = 0; i < f->socket_count && !err; i++)
		err = option(f->sockets[i], SOL_SOCKET, SO_ATTACH_FILTER,
			     &program, sizeof(program));
	return err;
}

/* Take UDP from and to the two addresses with our length. */
static int rx_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETHERNET_BYTES + 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETHERNET_BYTES + 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 IP_BYTES + UDP_BYTES + FLOOR_PACKET_BYTES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		      sizeof(program));
}

static int interface_bind(int fd, uint16_t protocol)
{
	const struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = (int)if_nametoindex("lo"),
	};

	return bind(fd, (const struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
}

static struct ring *ring_new(void)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (r)
		r->fd = -1;
	return r;
}

static int tx_open(struct floor *f)
{
	struct ring *r = ring_new();
	const struct tpacket_req size = {
		.tp_block_size = FRAMES * FRAME_BYTES,
		.tp_block_nr = 1,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = FRAMES,
	};
	const int version = TPACKET_V2;
	const int on = 1;
	int err;

	f->out = r;
	if (!r)
		return -ENOMEM;
	r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (r->fd < 0)
		return -errno;
	err = option(r->fd, SOL_PACKET, PACKET_VERSION, &version,
		     sizeof(version));
	if (!err)
		err = option(r->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on,
			     sizeof(on));
	if (!err)
		err = option(r->fd, SOL_PACKET, PACKET_TX_RING, &size,
			     sizeof(size));
	if (!err)
		err = interface_bind(r->fd, 0);
	if (err)
		return err;
	r->data = mmap(NULL, FRAMES * FRAME_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED, r->fd, 0);
	return r->data == MAP_FAILED ? -errno : 0;
}

static int rx_open(struct floor *f)
{
	struct ring *r = ring_new();
	const struct tpacket_req3 size = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = BLOCKS,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = BLOCKS * (BLOCK_BYTES / FRAME_BYTES),
		.tp_retire_blk_tov = BLOCK_MS,
	};
	const int version = TPACKET_V3;
	const int on = 1;
	int err;

	f->in = r;
	if (!r)
		return -ENOMEM;
	r->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (r->fd < 0)
		return -errno;
	err = option(r->fd, SOL_PACKET, PACKET_VERSION, &version,
		     sizeof(version));
	if (!err)
		err = option(r->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on,
			     sizeof(on));
	if (!err)
		err = option(r->fd, SOL_PACKET, PACKET_RX_RING, &size,
			     sizeof(size));
	if (!err)
		err = rx_filter(r->fd);
	if (!err)
		err = ports_hold(f);
	if (err)
		return err;
	r->data = mmap(NULL, (size_t)BLOCKS * BLOCK_BYTES,
		       PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	return r->data == MAP_FAILED ? -errno : interface_bind(r->fd, ETH_P_IP);
}

static void ring_close(struct ring *r, size_t bytes)
{
	if (!r)
		return;
	if (r->data && r->data != MAP_FAILED)
		munmap(r->data, bytes);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static void tx_close(struct floor *f)
{
	ring_close(f->out, (size_t)FRAMES * FRAME_BYTES);
}

static void rx_close(struct floor *f)
{
	ring_close(f->in, (size_t)BLOCKS * BLOCK_BYTES);
}

const struct floor_path floor_ring = {
	.name = "ring",
	.does = "AF_PACKET: a TX ring and a TPACKET_V3 RX ring, CAP_NET_RAW",
	.shares = true,
	.out_open = tx_open,
	.in_open = rx_open,
	.send = ring_send,
	.receive = ring_receive,
	.out_close = tx_close,
	.in_close = rx_close,
};

const struct floor_path floor_ring_receive = {
	.name = "ring-receive",
	.does = "a socket a flow: sendto(), received by the ring; CAP_NET_RAW",
	.out_open = floor_each_open,
	.in_open = rx_open,
	.send = floor_each_send,
	.receive = ring_receive,
	.out_close = floor_each_close,
	.in_close = rx_close,
};
