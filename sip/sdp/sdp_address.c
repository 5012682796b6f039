#include "sip/sdp/sdp_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ipv4_is_unicast(const union sockaddr_ip *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	uint32_t addr = ntohl(in->sin_addr.s_addr);

	/* RFC 1122 3.2.1.3: 0.x.y.z may only be a source address */
	return addr >> 24 != 0 && !IN_MULTICAST(addr) &&
	       addr != INADDR_BROADCAST;
}

static bool ipv6_is_unicast(const union sockaddr_ip *ss)
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

/* Bind to the media's address and any port. @return 0; -errno */
static int bind_as(int fd, const struct media_addr *local)
{
	union sockaddr_ip any = local->ss;
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

/* @return a socket; -errno */
static int socket_as(const struct media_addr *local)
{
	int fd = socket(local->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = bind_as(fd, local);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int connect_to(int fd, const struct media_addr *peer)
{
	return connect(fd, (const struct sockaddr *)(const void *)&peer->ss,
		       peer->len) < 0
		       ? -errno
		       : 0;
}

static bool same_host(const struct media_addr *a, const struct media_addr *b)
{
	const struct sockaddr_in *a4 = (const void *)&a->ss;
	const struct sockaddr_in *b4 = (const void *)&b->ss;
	const struct sockaddr_in6 *a6 = (const void *)&a->ss;
	const struct sockaddr_in6 *b6 = (const void *)&b->ss;

	if (a->ss.ss_family != b->ss.ss_family)
		return false;
	if (a->ss.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_scope_id == b6->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

/* Whether a socket that was connected before gives the same result as a new one:
 * not where connect() leaves a source address or an interface in it. */
static bool may_keep(const struct media_addr *peer,
		     const struct media_addr *local)
{
	const struct sockaddr_in *in = (const void *)&local->ss;
	const struct sockaddr_in6 *in6 = (const void *)&local->ss;
	const struct sockaddr_in6 *peer6 = (const void *)&peer->ss;

	if (local->ss.ss_family == AF_INET)
		return in->sin_addr.s_addr != htonl(INADDR_ANY);
	return !IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) &&
	       !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       !IN6_IS_ADDR_LINKLOCAL(&peer6->sin6_addr);
}

/* @return true: there is a route; false: unknown */
static bool kept_reaches(struct sdp_route *r, const struct media_addr *peer,
			 const struct media_addr *local, int64_t now_ns)
{
	if (r->open && !same_host(&r->local, local))
		sdp_route_close(r);
	if (!r->open) {
		int fd = socket_as(local);

		if (fd < 0)
			return false;
		*r = (struct sdp_route){
			.open = true, .fd = fd, .local = *local};
	}
	if (r->peer.len > 0 && same_host(&r->peer, peer) &&
	    now_ns - r->found_ns < SDP_ROUTE_VALID_NS)
		return true;
	if (connect_to(r->fd, peer))
		return false;
	r->peer = *peer;
	r->found_ns = now_ns;
	return true;
}

int sdp_address_route(struct sdp_route *r, const struct media_addr *peer,
		      const struct media_addr *local, int64_t now_ns)
{
	int err, fd;

	if (peer->len == 0)
		return 0;
	if (may_keep(peer, local) && kept_reaches(r, peer, local, now_ns))
		return 0;
	/* decide a refusal by a new socket */
	fd = socket_as(local);
	if (fd < 0)
		return 0; /* unknown */
	err = connect_to(fd, peer);
	close(fd);
	return err == -ENOBUFS || err == -ENOMEM || err == -EAGAIN ? 0 : err;
}

void sdp_route_close(struct sdp_route *r)
{
	if (r->open)
		close(r->fd);
	r->open = false;
}
