/**
 * A list of IP networks in the form of configuration files: "127.0.0.1,
 * 10.0.0.0/8 2001:db8::/32".
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
		unsigned bits;       /* prefix length, of 128 */
	} nets[NETLIST_MAX];
};

/**
 * Parse networks separated by blanks or commas. An empty list is valid.
 * @return 0; -EINVAL not an address, prefix too long, bits set after the
 *         prefix, more than NETLIST_MAX
 */
int netlist_parse(struct netlist *ret, const char *text);

/** @return an IPv4 or IPv6 address is in one of the networks */
bool netlist_has(const struct netlist *list, const struct sockaddr *address);

/** The same for the text of an address without a port.
 * @return false also if it is not an address */
bool netlist_has_text(const struct netlist *list, const char *text);

#endif
