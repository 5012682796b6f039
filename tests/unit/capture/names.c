/*
 * Replaces getaddrinfo() of the C library: libpcap may ask it for numeric
 * addresses only.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int(getaddrinfo_h)(const char *, const char *, const struct addrinfo *,
			   struct addrinfo **);

static int is_number(const char *node)
{
	struct in6_addr ignored;

	return inet_pton(AF_INET, node, &ignored) == 1 ||
	       inet_pton(AF_INET6, node, &ignored) == 1;
}

int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict ret)
{
	void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
	getaddrinfo_h *real;

	if (node && !is_number(node)) {
		fprintf(stderr, "the name \"%s\" was looked up\n", node);
		abort();
	}
	memcpy(&real, &symbol, sizeof(real));
	return real(node, service, hints, ret);
}
