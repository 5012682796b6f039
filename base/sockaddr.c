#include "base/sockaddr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

int sockaddr_parse(union sockaddr_ip *ret, socklen_t *ret_len, const char *host,
		   uint16_t port)
{
	union sockaddr_ip ss;
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	memset(&ss, 0, sizeof(ss));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		*ret_len = sizeof(*in);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		*ret_len = sizeof(*in6);
	} else {
		return -EINVAL;
	}
	*ret = ss;
	return 0;
}

/* inet_ntop() takes six times as long: it uses printf(). */
static void ipv4_text(char *dst, const struct in_addr *address)
{
	const uint8_t *bytes = (const uint8_t *)&address->s_addr;

	for (int i = 0; i < 4; i++) {
		unsigned n = bytes[i];

		if (n >= 100)
			*dst++ = (char)('0' + n / 100);
		if (n >= 10)
			*dst++ = (char)('0' + n / 10 % 10);
		*dst++ = (char)('0' + n % 10);
		*dst++ = i < 3 ? '.' : '\0';
	}
}

int sockaddr_host(char host[static INET6_ADDRSTRLEN], uint16_t *ret_port,
		  const union sockaddr_ip *address)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;

	switch (address->ss_family) {
	case AF_INET:
		*ret_port = ntohs(in->sin_port);
		ipv4_text(host, &in->sin_addr);
		return 0;
	case AF_INET6:
		*ret_port = ntohs(in6->sin6_port);
		inet_ntop(AF_INET6, &in6->sin6_addr, host, INET6_ADDRSTRLEN);
		return 0;
	default:
		return -EINVAL;
	}
}

bool sockaddr_is_any(const union sockaddr_ip *address)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;

	return address->ss_family == AF_INET
		       ? in->sin_addr.s_addr == INADDR_ANY
		       : address->ss_family == AF_INET6 &&
				 IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}
