#include "http_input.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTION_MEMORY_BYTES 65536 /* more than an input needs */
#define RUNS                    3 /* until the library has read everything */

/* As in http.c. */
#if MHD_VERSION < 0x00097701
#define STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#define STRICT_LEVEL  0
#else
#define STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#define STRICT_LEVEL  1
#endif

/* As keep_escaped() in http.c. */
static size_t keep(void *arg, struct MHD_Connection *connection, char *text)
{
	(void)arg;
	(void)connection;
	return strlen(text);
}

/* The library tells of each connection that it closes. */
__attribute__((format(printf, 2, 0))) static void silent(void *arg,
							 const char *fmt,
							 va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

struct MHD_Daemon *http_input_start(const struct http_input_handlers *h)
{
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		h->request, h->arg, MHD_OPTION_EXTERNAL_LOGGER, silent, NULL,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_UNESCAPE_CALLBACK,
		keep, NULL, MHD_OPTION_URI_LOG_CALLBACK, h->target, h->arg,
		MHD_OPTION_NOTIFY_COMPLETED, h->completed, h->arg,
		STRICT_OPTION, STRICT_LEVEL, MHD_OPTION_END);

	if (!d)
		abort();
	return d;
}

static void run(struct MHD_Daemon *d)
{
	for (int i = 0; i < RUNS; i++)
		MHD_run(d);
}

void http_input_send(struct MHD_Daemon *d, const char *data, size_t bytes,
		     size_t first)
{
	const struct sockaddr_in client = {
		.sin_family = AF_INET,
		.sin_port = htons(40000),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fds[2];

	if (first > bytes)
		first = bytes;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) ||
	    MHD_add_connection(d, fds[0], (const struct sockaddr *)&client,
			       sizeof(client)) != MHD_YES)
		abort();
	if (first > 0 && send(fds[1], data, first, MSG_NOSIGNAL) >= 0)
		run(d);
	if (send(fds[1], data + first, bytes - first, MSG_NOSIGNAL) >= 0)
		run(d);
	close(fds[1]);
	run(d);
	if (MHD_get_daemon_info(d, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
		    ->num_connections)
		abort();
}
