/**
 * Which datagrams a tap shall see: a small language of hosts and ports,
 * decided twice by the same tree. As a classic BPF program the kernel leaves
 * out most of the rest; filter_matches() is exact, also for what was put
 * together of fragments, whose parts the program lets through.
 *
 *   filter  = all *("or" all)
 *   all     = one *("and" one)
 *   one     = "not" one | "(" filter ")" | "udp" | "tcp"
 *           | [side] "host" address ["/" bits] | [side] "port" N ["-" M]
 *   side    = "src" | "dst"          ; without it: either
 *
 * An address is an IPv4 or IPv6 literal, no name. Docs: docs/reference/tap.md
 * Thread: any.
 */
#ifndef OFFHOOK_CAPTURE_FILTER_H
#define OFFHOOK_CAPTURE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/datagram.h"

#define FILTER_NODES_MAX    64
#define FILTER_DEPTH_MAX    32
#define FILTER_REASON_BYTES 192

enum filter_kind {
	FILTER_AND,
	FILTER_OR,
	FILTER_HOST,
	FILTER_PORT,
	FILTER_UDP,
	FILTER_TCP,
};

enum filter_side {
	FILTER_EITHER,
	FILTER_SRC,
	FILTER_DST,
};

struct filter_node {
	enum filter_kind kind;
	bool negated;          /* never of AND and OR */
	enum filter_side side; /* host, port */
	uint16_t left;         /* AND, OR: places of both sides */
	uint16_t right;
	struct address address;
	uint8_t bits; /* of the 128 of an address that count */
	uint16_t first;
	uint16_t last;
};

/** All zero: everything. */
struct filter {
	size_t count; /* the last one is the root */
	struct filter_node nodes[FILTER_NODES_MAX];
};

/**
 * @param reason  FILTER_REASON_BYTES; written on failure, with the column
 * @return 0; -EINVAL; -E2BIG more than FILTER_NODES_MAX conditions, or deeper
 *         than FILTER_DEPTH_MAX (*ret unchanged)
 */
int filter_parse(struct filter *ret, const char *text, char *reason);

/** @param tcp  it is a TCP segment, else a UDP datagram */
bool filter_matches(const struct filter *f, const struct datagram *d, bool tcp);

#define FILTER_PROGRAM_MAX 4096 /* BPF_MAXINSNS */

struct filter_program {
	size_t count;
	struct sock_filter code[FILTER_PROGRAM_MAX];
};

/** What the frames of a packet socket begin with. */
enum filter_link {
	FILTER_LINK_ETHERNET,
	FILTER_LINK_IP,
};

/**
 * Everything but IPv4 and IPv6 with UDP, TCP or a fragment is left out.
 * @param loopback  each packet passes twice: leave out the first time
 * @return 0; -E2BIG the program would be too long (*ret undefined)
 */
int filter_compile(struct filter_program *ret, const struct filter *f,
		   enum filter_link link, bool loopback);

#endif
