#include "sip/sdp_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ipv4_is_unicast(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	uint32_t addr = ntohl(in->sin_addr.s_addr);

	/* RFC 1122 3.2.1.3: 0.x.y.z is a source address only */
	return addr >> 24 != 0 && !IN_MULTICAST(addr) &&
	       addr != INADDR_BROADCAST;
}

static bool ipv6_is_unicast(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;

	return !IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

int sdp_address_check(const struct media_addr *peer,
		      const struct media_addr *local)
{
	bool unicast;

	if (peer->len == 0)
		return 0;
	if (peer->ss.ss_family != local->ss.ss_family)
		return -EAFNOSUPPORT;
	unicast = peer->ss.ss_family == AF_INET ? ipv4_is_unicast(&peer->ss)
						: ipv6_is_unicast(&peer->ss);
	return unicast ? 0 : -EADDRNOTAVAIL;
}

/* Bound as our media is, to any port. @return 0; -errno */
static int bind_as(int fd, const struct media_addr *local)
{
	struct sockaddr_storage any = local->ss;
	int on = 1;

	if (any.ss_family == AF_INET6) {
		((struct sockaddr_in6 *)(void *)&any)->sin6_port = 0;
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) <
		    0)
			return -errno;
	} else {
		((struct sockaddr_in *)(void *)&any)->sin_port = 0;
	}
	return bind(fd, (const struct sockaddr *)(const void *)&any,
		    local->len) < 0
		       ? -errno
		       : 0;
}

int sdp_address_route(const struct media_addr *peer,
		      const struct media_addr *local)
{
	int err = 0;
	int fd;

	if (peer->len == 0)
		return 0;
	fd = socket(local->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0; /* nothing was learned */
	if (bind_as(fd, local) == 0 &&
	    connect(fd, (const struct sockaddr *)(const void *)&peer->ss,
		    peer->len) < 0)
		err = -errno;
	close(fd);
	return err == -ENOBUFS || err == -ENOMEM || err == -EAGAIN ? 0 : err;
}
