/**
 * The floor of a media path: what sending and receiving the packets of N
 * two-way calls costs a program that does nothing else. Each call is two flows,
 * one in each direction, of 172 bytes (G.711, 20 ms) over loopback.
 *
 * floor.c       the two threads, lateness, loss, jitter, processor time
 * floor_udp.c   paths over UDP sockets: a socket a flow, shared sockets
 * floor_ring.c  the path over AF_PACKET rings
 * floor_raw.c   paths over raw sockets
 */
#ifndef OFFHOOK_BENCH_FLOOR_H
#define OFFHOOK_BENCH_FLOOR_H

#include "media/lateness.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOOR_PACKET_BYTES 172
#define FLOOR_PACKET_NS    INT64_C(20000000)
#define FLOOR_PHASES       20 /* of 1 ms, as the engine's */
#define FLOOR_SHARED_MAX   64 /* sockets a side */

struct flow {
	int64_t due_ns;  /* TX: of the next packet */
	uint32_t socket; /* index of its own socket */
	uint16_t seq;    /* TX: of the next packet */
	bool measured;   /* TX: the packet at due_ns counts */
	/* RX */
	bool heard;
	uint16_t seq_first;
	uint16_t seq_last;
	uint64_t received;
	int64_t transit_ns;
	double jitter_ns;
	double jitter_sum_ns;
	struct sockaddr_in to; /* constant */
	uint8_t data[FLOOR_PACKET_BYTES];
};

struct floor {
	/* constant after the start */
	const struct floor_path *path;
	uint32_t calls;
	uint32_t flow_count; /* two a call; i and i ^ 1 are of one call */
	uint32_t socket_count;
	uint32_t shared; /* sockets a side, if they are shared */
	int *sockets;
	struct sockaddr_in *addresses;
	struct flow *flows; /* by phase: flow i has the phase i / 2 % 20 */
	int64_t start_ns;
	int64_t measured_ns; /* from then on packets count */
	int64_t end_ns;
	void *out; /* TX: state of the path */
	void *in;  /* RX: its other part */
	/* TX thread */
	uint64_t sent;
	uint64_t refused;
	struct lateness lateness;
	/* RX thread */
	int64_t wall_offset_ns;
	uint64_t received; /* whenever they were sent */
	uint64_t strange;
	uint64_t drops;
	_Atomic bool quit; /* written by main() */
};

/** One way to send and to receive. */
struct floor_path {
	const char *name;
	const char *does;
	bool shares;  /* sockets; else each flow has its own */
	bool ordered; /* ports in order, first those of one side */
	/** After the sockets are bound; what failed is closed, too.
	 * @return 0; -errno */
	int (*out_open)(struct floor *f);
	int (*in_open)(struct floor *f);
	/** TX thread: send the next packet of each of these flows, which are
	 * due; floor_next() each, then floor_sent() each. */
	void (*send)(struct floor *f, struct flow **flows, uint32_t count);
	/** RX thread: read the packets that have arrived, floor_arrived() each.
	 * @param wait_ms  how long to wait for a packet if none is there */
	void (*receive)(struct floor *f, int wait_ms);
	void (*out_close)(struct floor *f);
	void (*in_close)(struct floor *f);
};

/** The parts of floor_socket, of which other paths use one. */
int floor_each_open(struct floor *f);
void floor_each_send(struct floor *f, struct flow **flows, uint32_t count);
void floor_each_close(struct floor *f);
int floor_sockets_open(struct floor *f);
void floor_sockets_receive(struct floor *f, int wait_ms);
void floor_sockets_close(struct floor *f);

extern const struct floor_path floor_socket;
extern const struct floor_path floor_busy;
extern const struct floor_path floor_sweep;
extern const struct floor_path floor_batch;
extern const struct floor_path floor_gso;
extern const struct floor_path floor_ring;
extern const struct floor_path floor_ring_receive;
extern const struct floor_path floor_raw;
extern const struct floor_path floor_raw_send;

/** TX: write the number of the next packet into its data. */
void floor_next(struct flow *flow);
/** TX: its packet was handed to the kernel at most at now_ns. */
void floor_sent(struct floor *f, struct flow *flow, int64_t now_ns, bool ok);
/** RX: a packet came. @param wall_ns  the kernel's stamp */
void floor_arrived(struct floor *f, const uint8_t *data, size_t bytes,
		   int64_t wall_ns);

#endif
