#include "capture/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define FRAME_BYTES 2048 /* the kernel wants a value; it limits nothing */
/* https://www.tcpdump.org/linktypes.html, as datagram.c reads them */
#define LINK_ETHERNET 1
#define LINK_RAW      101

struct tap {
	int fd;
	uint32_t link;
	uint8_t *ring;
	size_t ring_bytes;
	size_t blocks;
	size_t next; /* block to read */
	struct tap_counters counters;
};

int tap_fd(const struct tap *t)
{
	return t->fd;
}

static int fail(char *reason, const struct tap_params *p, const char *what,
		int err)
{
	snprintf(reason, TAP_REASON_BYTES, "%s: %s: %s", p->interface, what,
		 strerror(err));
	return -err;
}

static int open_socket(struct tap *t, const struct tap_params *p, char *reason)
{
	/* protocol 0: nothing is received before the filter is in place */
	t->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd >= 0)
		return 0;
	if (errno != EPERM && errno != EACCES)
		return fail(reason, p, "packet socket", errno);
	str_copy(reason, TAP_REASON_BYTES,
		 "the capability CAP_NET_RAW is missing: run it as root, give "
		 "the program the capability (setcap cap_net_raw+ep PROGRAM), "
		 "or the service (AmbientCapabilities=CAP_NET_RAW)");
	return -EPERM;
}

/* Find index and link type of the interface.
 * @param ret_loopback  each packet passes twice, sent and received
 * @return the index; -errno */
static int find_interface(struct tap *t, const struct tap_params *p,
			  bool *ret_loopback, char *reason)
{
	struct ifreq r = {0};

	if (str_copy(r.ifr_name, sizeof(r.ifr_name), p->interface) ||
	    ioctl(t->fd, SIOCGIFHWADDR, &r)) {
		snprintf(reason, TAP_REASON_BYTES,
			 "there is no interface \"%s\" here: \"ip link\" "
			 "lists them",
			 p->interface);
		return -ENODEV;
	}
	*ret_loopback = r.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
	switch (r.ifr_hwaddr.sa_family) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		t->link = LINK_ETHERNET;
		break;
	case ARPHRD_NONE:
	case ARPHRD_PPP:
	case ARPHRD_RAWIP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
		t->link = LINK_RAW;
		break;
	default:
		snprintf(reason, TAP_REASON_BYTES,
			 "%s: link layer %u is not supported, only Ethernet "
			 "and plain IP (tun)",
			 p->interface, r.ifr_hwaddr.sa_family);
		return -ENOTSUP;
	}
	if (ioctl(t->fd, SIOCGIFINDEX, &r))
		return fail(reason, p, "its number", errno);
	return r.ifr_ifindex;
}

static int attach(struct tap *t, const struct filter_program *program)
{
	/* the kernel's type is not const; it only reads */
	struct sock_fprog set = {
		.len = (unsigned short)program->count,
		.filter = (struct sock_filter *)(uintptr_t)program->code,
	};

	return setsockopt(t->fd, SOL_SOCKET, SO_ATTACH_FILTER, &set,
			  sizeof(set))
		       ? -errno
		       : 0;
}

/* A program that is too long for the kernel, or for its memory of options
 * (net.core.optmem_max), is replaced by one that decides less. */
static int attach_filter(struct tap *t, const struct filter *f, bool loopback)
{
	struct filter_program *program = malloc(sizeof(*program));
	enum filter_link link = t->link == LINK_ETHERNET ? FILTER_LINK_ETHERNET
							 : FILTER_LINK_IP;
	int err = -ENOMEM;

	for (unsigned i = FILTER_DETAIL_ALL;
	     program && i <= FILTER_DETAIL_PROTOCOL; i++) {
		err = filter_socket_program(program, f, link, loopback,
					    (enum filter_detail)i);
		if (!err)
			err = attach(t, program);
		if (err != -E2BIG && err != -ENOMEM)
			break;
	}
	free(program);
	return err;
}

static int set_filter(struct tap *t, const struct tap_params *p, bool loopback,
		      char *reason)
{
	char filter_reason[FILTER_REASON_BYTES];
	struct filter *all = NULL;
	int err = 0;

	if (!p->filter)
		err = filter_new(&all, "", filter_reason);
	if (!err)
		err = attach_filter(t, p->filter ? p->filter : all, loopback);
	filter_free(all);
	return err ? fail(reason, p, "filter", -err) : 0;
}

static int make_ring(struct tap *t, const struct tap_params *p, char *reason)
{
	int version = TPACKET_V3;
	int on = 1;
	size_t bytes = p->ring_bytes ? p->ring_bytes : TAP_RING_BYTES_DEFAULT;
	struct tpacket_req3 r = {
		.tp_block_size = TAP_BLOCK_BYTES,
		.tp_block_nr = (unsigned)(bytes / TAP_BLOCK_BYTES),
		.tp_frame_size = FRAME_BYTES,
		.tp_retire_blk_tov = TAP_BLOCK_MS,
	};

	if (r.tp_block_nr < 2)
		r.tp_block_nr = 2;
	r.tp_frame_nr = r.tp_block_nr * (TAP_BLOCK_BYTES / FRAME_BYTES);
	/* makes the kernel stamp packets when they arrive */
	if (setsockopt(t->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
		return fail(reason, p, "time stamps", errno);
	if (setsockopt(t->fd, SOL_PACKET, PACKET_VERSION, &version,
		       sizeof(version)) ||
	    setsockopt(t->fd, SOL_PACKET, PACKET_RX_RING, &r, sizeof(r)))
		return fail(reason, p, "ring", errno);
	t->blocks = r.tp_block_nr;
	t->ring_bytes = t->blocks * TAP_BLOCK_BYTES;
	t->ring = mmap(NULL, t->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       t->fd, 0);
	if (t->ring != MAP_FAILED)
		return 0;
	t->ring = NULL;
	return fail(reason, p, "ring", errno);
}

static int start(struct tap *t, const struct tap_params *p, int index,
		 char *reason)
{
	struct sockaddr_ll bound = {.sll_family = AF_PACKET,
				    .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = index};
	struct packet_mreq all = {.mr_ifindex = index,
				  .mr_type = PACKET_MR_PROMISC};

	if (p->promiscuous &&
	    setsockopt(t->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
		       sizeof(all)))
		return fail(reason, p, "promiscuous mode", errno);
	if (bind(t->fd, (struct sockaddr *)&bound, sizeof(bound)))
		return fail(reason, p, "bind", errno);
	return 0;
}

int tap_open(struct tap **ret, const struct tap_params *params, char *reason)
{
	struct tap *t = calloc(1, sizeof(*t));
	bool loopback = false;
	int index;
	int err;

	str_copy(reason, TAP_REASON_BYTES, "out of memory");
	if (!t)
		return -ENOMEM;
	t->fd = -1;
	err = open_socket(t, params, reason);
	if (err)
		goto out;
	index = find_interface(t, params, &loopback, reason);
	err = index < 0 ? index : 0;
	if (!err)
		err = set_filter(t, params, loopback, reason);
	if (!err)
		err = make_ring(t, params, reason);
	if (!err)
		err = start(t, params, index, reason);
out:
	if (err)
		tap_close(t);
	else
		*ret = t;
	return err;
}

struct tap *tap_close(struct tap *t)
{
	if (!t)
		return NULL;
	if (t->ring)
		munmap(t->ring, t->ring_bytes);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
	return NULL;
}

/* The offsets in the ring are the kernel's: they are not checked. */
static void read_block(const struct tap *t, const uint8_t *block,
		       const struct tpacket_hdr_v1 *h, tap_h *handler,
		       void *arg)
{
	const uint8_t *at = block + h->offset_to_first_pkt;

	for (uint32_t i = 0; i < h->num_pkts; i++) {
		struct tpacket3_hdr p;
		struct frame f;

		memcpy(&p, at, sizeof(p));
		f = (struct frame){
			.ns = (int64_t)p.tp_sec * NS_PER_S + p.tp_nsec,
			.timed = true,
			.link = t->link,
			.data = at + p.tp_mac,
			.captured = p.tp_snaplen,
			.bytes = p.tp_len,
		};
		handler(&f, arg);
		at += p.tp_next_offset;
	}
}

static int socket_error(const struct tap *t)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	return -err;
}

int tap_read(struct tap *t, tap_h *handler, void *arg)
{
	for (size_t n = 0; n < t->blocks; n++) {
		uint8_t *block = t->ring + t->next * TAP_BLOCK_BYTES;
		/* a block is page-aligned */
		struct tpacket_block_desc *d = (void *)block;
		struct tpacket_hdr_v1 *h = &d->hdr.bh1;

		/* acquire: pairs with the kernel's release of the block and
		 * makes the frames visible */
		if (!(__atomic_load_n(&h->block_status, __ATOMIC_ACQUIRE) &
		      TP_STATUS_USER))
			return n == 0 ? socket_error(t) : 0;
		read_block(t, block, h, handler, arg);
		/* release: pairs with the kernel's read of the status; our
		 * reads of the block are complete */
		__atomic_store_n(&h->block_status, TP_STATUS_KERNEL,
				 __ATOMIC_RELEASE);
		t->next = (t->next + 1) % t->blocks;
	}
	return 0;
}

void tap_counters(struct tap *t, struct tap_counters *ret)
{
	struct tpacket_stats_v3 s = {0};
	socklen_t len = sizeof(s);

	/* reading resets the kernel's counters; tp_packets includes the
	 * dropped frames */
	if (getsockopt(t->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0) {
		t->counters.frames += s.tp_packets;
		t->counters.dropped += s.tp_drops;
	}
	*ret = t->counters;
}
