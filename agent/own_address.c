#include "agent/own_address.h"

#include <curl/curl.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The source address of the route to one address. @return 0; -errno */
static int source_of(char *dst, size_t size, const struct addrinfo *to)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	/* of a datagram socket: the kernel chooses the route, nothing is sent */
	if (connect(fd, to->ai_addr, to->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&own, &len))
		err = -errno;
	close(fd);
	if (!err && getnameinfo((const struct sockaddr *)&own, len, dst,
				(socklen_t)size, NULL, 0, NI_NUMERICHOST))
		err = -EINVAL;
	if (!err && strchr(dst, '%'))
		err = -EADDRNOTAVAIL; /* link-local: of no use in SIP and SDP */
	return err;
}

/* @param host  a name or an address without brackets */
static int source_to_host(char *dst, size_t size, const char *host,
			  const char *port, const char **reason)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *list = NULL;
	int failed = getaddrinfo(host, port, &hints, &list);
	int err = -EHOSTUNREACH;

	if (failed) {
		*reason = gai_strerror(failed);
		return -EHOSTUNREACH;
	}
	for (const struct addrinfo *i = list; i && err; i = i->ai_next)
		err = source_of(dst, size, i);
	freeaddrinfo(list);
	if (!err)
		return 0;
	*reason = "there is no route to it";
	return -EHOSTUNREACH;
}

int own_address_to(char *dst, size_t size, const char *url, const char **reason)
{
	CURLU *parts = curl_url();
	char *host = NULL, *port = NULL;
	int err = -EINVAL;

	*reason = "it is no URL with a host";
	if (!parts)
		return -ENOMEM;
	if (!curl_url_set(parts, CURLUPART_URL, url, 0) &&
	    !curl_url_get(parts, CURLUPART_HOST, &host, 0) &&
	    !curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)) {
		size_t len = strlen(host);
		char *bare = host;

		if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
			host[len - 1] = '\0';
			bare++;
		}
		err = source_to_host(dst, size, bare, port, reason);
	}
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(parts);
	return err;
}
