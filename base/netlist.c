#include "base/netlist.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* RFC 4291 section 2.5.5.2 */
static const uint8_t v4_mapped[12] = {[10] = 0xff, [11] = 0xff};

/* @return 32 (IPv4) or 128 (IPv6) bits; 0: not an address */
static unsigned parse_address(const char *text, uint8_t address[static 16])
{
	if (inet_pton(AF_INET6, text, address) == 1)
		return 128;
	if (inet_pton(AF_INET, text, address + sizeof(v4_mapped)) != 1)
		return 0;
	memcpy(address, v4_mapped, sizeof(v4_mapped));
	return 32;
}

static bool agrees(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

static int add(struct netlist *list, char *text)
{
	static const uint8_t zeros[16];
	uint8_t *address = list->nets[list->count].address;
	char *slash = strchr(text, '/');
	uint8_t masked[16];
	unsigned own;
	uint64_t bits;

	if (slash)
		*slash = '\0';
	own = parse_address(text, address);
	bits = own;
	if (own == 0 || (slash && str_to_u64(slash + 1, own, &bits)))
		return -EINVAL;
	bits += 128 - own;
	/* reject 10.1.2.3/8: it may mean the host or the network */
	memcpy(masked, address, sizeof(masked));
	memset(masked, 0, bits / 8);
	if (bits % 8)
		masked[bits / 8] &= (uint8_t)(0xff >> (bits % 8));
	if (memcmp(masked, zeros, sizeof(zeros)) != 0)
		return -EINVAL;
	list->nets[list->count++].bits = (unsigned)bits;
	return 0;
}

int netlist_parse(struct netlist *ret, const char *text)
{
	char one[INET6_ADDRSTRLEN + 8];

	ret->count = 0;
	for (;;) {
		size_t len;

		text += strspn(text, " ,\t");
		len = strcspn(text, " ,\t");
		if (len == 0)
			return 0;
		if (len >= sizeof(one) || ret->count == NETLIST_MAX)
			return -EINVAL;
		memcpy(one, text, len);
		one[len] = '\0';
		if (add(ret, one))
			return -EINVAL;
		text += len;
	}
}

static bool has(const struct netlist *list, const uint8_t address[static 16])
{
	for (size_t i = 0; i < list->count; i++) {
		if (agrees(address, list->nets[i].address, list->nets[i].bits))
			return true;
	}
	return false;
}

bool netlist_has(const struct netlist *list, const struct sockaddr *address)
{
	uint8_t bytes[16];
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} copy;

	if (address->sa_family == AF_INET6) {
		memcpy(&copy.in6, address, sizeof(copy.in6));
		memcpy(bytes, &copy.in6.sin6_addr, sizeof(bytes));
	} else if (address->sa_family == AF_INET) {
		memcpy(&copy.in, address, sizeof(copy.in));
		memcpy(bytes, v4_mapped, sizeof(v4_mapped));
		memcpy(bytes + sizeof(v4_mapped), &copy.in.sin_addr, 4);
	} else {
		return false;
	}
	return has(list, bytes);
}

bool netlist_has_text(const struct netlist *list, const char *text)
{
	uint8_t bytes[16];

	return parse_address(text, bytes) > 0 && has(list, bytes);
}
