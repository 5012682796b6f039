#include "media/socket.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "base/stamp.h"

/* Room for about a second of 20 ms packets of one stream with the kernel's
 * overhead for each, and for bursts: a late RX thread loses nothing. */
#define RECEIVE_BUFFER_BYTES (512 * 1024)

static const struct sockaddr_in *in4(const struct media_addr *a)
{
	return (const struct sockaddr_in *)(const void *)&a->ss;
}

static const struct sockaddr_in6 *in6(const struct media_addr *a)
{
	return (const struct sockaddr_in6 *)(const void *)&a->ss;
}

bool media_addr_valid(const struct media_addr *a)
{
	return (a->ss.ss_family == AF_INET &&
		a->len >= (socklen_t)sizeof(struct sockaddr_in)) ||
	       (a->ss.ss_family == AF_INET6 &&
		a->len >= (socklen_t)sizeof(struct sockaddr_in6));
}

bool media_addr_unspecified(const struct media_addr *a)
{
	if (a->ss.ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&in6(a)->sin6_addr);
	return in4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
}

bool media_addr_equal(const struct media_addr *a, const struct media_addr *b)
{
	if (a->ss.ss_family != b->ss.ss_family)
		return false;
	if (a->ss.ss_family == AF_INET)
		return in4(a)->sin_port == in4(b)->sin_port &&
		       in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
	if (a->ss.ss_family == AF_INET6)
		return in6(a)->sin6_port == in6(b)->sin6_port &&
		       memcmp(&in6(a)->sin6_addr, &in6(b)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return false;
}

void media_addr_set_port(struct media_addr *a, uint16_t port)
{
	if (a->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&a->ss)->sin6_port =
			htons(port);
	else
		((struct sockaddr_in *)(void *)&a->ss)->sin_port = htons(port);
}

uint16_t media_addr_port(const struct media_addr *a)
{
	return ntohs(a->ss.ss_family == AF_INET6 ? in6(a)->sin6_port
						 : in4(a)->sin_port);
}

void random_bytes(void *dst, size_t bytes)
{
	uint8_t *at = dst;

	while (bytes > 0) {
		/* blocks only shortly after boot */
		ssize_t got = getrandom(at, bytes, 0);

		if (got <= 0)
			continue;
		at += got;
		bytes -= (size_t)got;
	}
}

static int socket_options(int fd, int family)
{
	int on = 1;
	int bytes = RECEIVE_BUFFER_BYTES;

	if (family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	int err = stamp_enable(fd);

	if (err)
		return err;
	if (setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on)) < 0)
		return -errno;
	/* above net.core.rmem_max only with CAP_NET_ADMIN; the size that the
	 * kernel grants is sufficient, and drops are counted */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) <
		    0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0)
		return -errno;
	return 0;
}

static int socket_bind(int *ret, const struct media_addr *a)
{
	int family = a->ss.ss_family;
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = socket_options(fd, family);
	if (!err &&
	    bind(fd, (const struct sockaddr *)(const void *)&a->ss, a->len) < 0)
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	*ret = fd;
	return 0;
}

int socket_pair_bind(int ret_fds[static SOCKET_COUNT],
		     struct media_addr ret[static SOCKET_COUNT],
		     const struct media_addr *bind_to, uint16_t port_min,
		     uint16_t port_max)
{
	uint32_t first = (uint32_t)port_min + (port_min & 1);
	uint32_t pairs = port_max > first ? (port_max - first + 1) / 2 : 0;
	uint32_t offset;

	if (!media_addr_valid(bind_to) || pairs == 0 || first == 0)
		return -EINVAL;
	offset = random_u32();
	for (uint32_t i = 0; i < pairs; i++) {
		uint32_t port = first + 2 * ((offset % pairs + i) % pairs);
		struct media_addr rtp = *bind_to;
		struct media_addr rtcp = *bind_to;
		int fds[SOCKET_COUNT] = {-1, -1};
		int err;

		media_addr_set_port(&rtp, (uint16_t)port);
		media_addr_set_port(&rtcp, (uint16_t)(port + 1));
		err = socket_bind(&fds[SOCKET_RTP], &rtp);
		if (!err) {
			err = socket_bind(&fds[SOCKET_RTCP], &rtcp);
			if (err)
				close(fds[SOCKET_RTP]);
		}
		if (err == -EADDRINUSE)
			continue;
		if (err)
			return err;
		memcpy(ret_fds, fds, sizeof(fds));
		ret[SOCKET_RTP] = rtp;
		ret[SOCKET_RTCP] = rtcp;
		return 0;
	}
	return -EADDRINUSE;
}

int socket_queue_look(int fd, bool *ret_waiting, uint32_t *ret_drops)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t bytes = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &bytes) < 0)
		return -errno;
	/* the memory of what waits: a datagram without a byte has some, too */
	*ret_waiting = info[SK_MEMINFO_RMEM_ALLOC] > 0;
	*ret_drops = info[SK_MEMINFO_DROPS];
	return 0;
}
