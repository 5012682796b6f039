/**
 * Which packets a tap measures: an expression in the syntax of tcpdump
 * (pcap-filter(7)), compiled by libpcap.
 *
 * The expression sees one IP packet: without Ethernet, VLAN tags and PPPoE in
 * front of it, after reassembly, and without the extension headers of IPv6.
 * Only UDP and TCP are looked at. Addresses and ports are numbers: libpcap would
 * ask the DNS for a name. Words about the link layer are refused.
 *
 * It is evaluated twice. filter_socket_program() makes a program for the kernel,
 * which drops most of the packets that do not match, but passes every packet
 * that it cannot decide: fragments, and IPv6 with extension headers.
 * filter_matches() decides exactly.
 * Thread: one owner. Docs: docs/reference/tap.md
 */
#ifndef OFFHOOK_CAPTURE_FILTER_H
#define OFFHOOK_CAPTURE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "capture/datagram.h"

/* Characters: libpcap's optimizer takes 0.3 s for so many, 10 s for 4096. */
#define FILTER_TEXT_MAX     1024
#define FILTER_REASON_BYTES 512

struct filter;

/**
 * Compile an expression.
 * @param text    "": all UDP and TCP
 * @param reason  FILTER_REASON_BYTES; written on failure: cause and an example
 * @return 0; -EINVAL; -E2BIG longer than FILTER_TEXT_MAX; -ENOMEM (*ret
 *         unchanged)
 */
int filter_new(struct filter **ret, const char *text, char *reason);
struct filter *filter_free(struct filter *f);

/**
 * Evaluate the expression on one datagram or segment.
 * @param d    of datagram_parse() or fragments_take()
 * @param tcp  it is a TCP segment, else a UDP datagram
 */
bool filter_matches(struct filter *f, const struct datagram *d, bool tcp);

/** Whether the expression asks for addresses, ports and protocols only: then it
 * is the same for each packet of a stream. */
bool filter_is_by_flow(const struct filter *f);

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

/** What the kernel evaluates: less makes a shorter program. */
enum filter_detail {
	FILTER_DETAIL_ALL,      /* the expression, for each count of tags */
	FILTER_DETAIL_UNTAGGED, /* the expression; passes tagged frames */
	FILTER_DETAIL_PROTOCOL, /* only that it is UDP, TCP or a fragment */
};

/**
 * The program for SO_ATTACH_FILTER. It passes at least what matches.
 * @param loopback  each packet passes twice: drop the outgoing one
 * @return 0; -E2BIG longer than FILTER_PROGRAM_MAX (*ret undefined)
 */
int filter_socket_program(struct filter_program *ret, const struct filter *f,
			  enum filter_link link, bool loopback,
			  enum filter_detail detail);

#endif
