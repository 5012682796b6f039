/**
 * A list of IP networks, as configuration files have it:
 * "127.0.0.1, 10.0.0.0/8 2001:db8::/32".
 * Thread: any; constant after parsing.
 */
#ifndef OFFHOOK_BASE_NETLIST_H
#define OFFHOOK_BASE_NETLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define NETLIST_MAX 32

struct netlist {
	size_t count;
	struct {
		uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
		unsigned bits;       /* of the 128 that must agree */
	} nets[NETLIST_MAX];
};

/**
 * Parse networks with blanks or commas between them; none is well.
 * @return 0; -EINVAL no address, a prefix that is too long, bits set behind it,
 *         too many
 */
int netlist_parse(struct netlist *ret, const char *text);

/** True if an IPv4 or IPv6 address is in one of them. */
bool netlist_has(const struct netlist *list, const struct sockaddr *address);

/** Likewise for the text of an address without a port; false if it is none. */
bool netlist_has_text(const struct netlist *list, const char *text);

#endif
