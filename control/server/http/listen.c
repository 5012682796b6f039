#include "control/server/http/listen.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512

static int split(const char *text, char host[NI_MAXHOST], char port[NI_MAXSERV])
{
	const char *colon = strrchr(text, ':');
	const char *start = text;
	size_t len;
	uint64_t number;

	if (!colon || str_copy(port, NI_MAXSERV, colon + 1) ||
	    str_to_u64(port, 65535, &number))
		return -EINVAL;
	len = (size_t)(colon - text);
	if (len >= 2 && start[0] == '[' && start[len - 1] == ']') {
		start++;
		len -= 2;
	}
	if (len >= NI_MAXHOST)
		return -EINVAL;
	memcpy(host, start, len);
	host[len] = '\0';
	return 0;
}

static int open_socket(const struct addrinfo *ai, int *ret_fd)
{
	const int on = 1;
	int fd, err;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0) {
		*ret_fd = fd;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

static void print_address(int fd, const char *scheme,
			  char address[LISTEN_ADDRESS_BYTES])
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &len) ||
	    getnameinfo((struct sockaddr *)&bound, len, host, sizeof(host),
			port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		address[0] = '\0';
	else
		str_print(address, LISTEN_ADDRESS_BYTES,
			  strchr(host, ':') ? "%s://[%s]:%s" : "%s://%s:%s",
			  scheme, host, port);
}

int listen_open(const char *text, const char *scheme, int *ret_fd,
		char address[LISTEN_ADDRESS_BYTES])
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	char host[NI_MAXHOST], port[NI_MAXSERV];
	struct addrinfo *found;
	int err;

	if (split(text, host, port)) {
		log_error("listen address %s: not address:port", text);
		return -EINVAL;
	}
	err = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
	if (err) {
		log_error("listen address %s: %s", text, gai_strerror(err));
		return -EINVAL;
	}
	err = -EADDRNOTAVAIL;
	for (struct addrinfo *ai = found; ai && err; ai = ai->ai_next)
		err = open_socket(ai, ret_fd);
	freeaddrinfo(found);
	if (err) {
		log_error("cannot listen on %s: %s", text, strerror(-err));
		return err;
	}
	print_address(*ret_fd, scheme, address);
	return 0;
}
