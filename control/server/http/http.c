#include "control/server/http/http.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/http/http_internal.h"
#include "control/server/http/listen.h"
#include "control/server/http/peers.h"
#include "control/server/http/rate.h"
#include "control/server/http/tls.h"
#include "control/server/request/controller.h"
#include "control/server/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Request line and headers of one connection. */
#define CONNECTION_MEMORY_BYTES (32u << 10)

/* Files open besides the connections: readers, uploads, answers. */
#define OTHER_DESCRIPTORS 512u

struct worker {
	struct http *http;
	struct store *store;
	pthread_t thread;
	bool started;
};

/* The path and the query are decoded by us, after they were split. */
static size_t keep_escaped(void *cls, struct MHD_Connection *connection,
			   char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *cls,
							 const char *fmt,
							 va_list args)
{
	struct http *http = cls;
	char line[256];

	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (!http->daemon)
		str_print(http->start_error, sizeof(http->start_error), "%s",
			  line);
	log_debug("http: %s", line);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct queue_item *item;

	while ((item = http_queue_take(w->http->queue)) != NULL) {
		struct exchange *x = (struct exchange *)item;
		int64_t park_ns;

		if (x->admitting)
			exchange_admit(x, w->store);
		else if (exchange_serve(x, w->store, &park_ns) ==
			 SERVED_PARKED) {
			http_queue_park(w->http->queue, item, clock_mono_ns(),
					park_ns);
			continue;
		}
		MHD_resume_connection(x->connection);
	}
	return NULL;
}

static int start_workers(struct http *http)
{
	unsigned count = http->params.workers;

	http->workers = calloc(count, sizeof(*http->workers));
	if (!http->workers)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		struct worker *w = &http->workers[i];
		int err;

		w->http = http;
		err = store_new(&w->store, http->params.database);
		if (err == 0)
			err = -pthread_create(&w->thread, NULL, worker_main, w);
		if (err)
			return err;
		w->started = true;
	}
	return 0;
}

static void stop_workers(struct http *http)
{
	if (http->queue)
		http_queue_close(http->queue);
	for (unsigned i = 0; http->workers && i < http->params.workers; i++) {
		struct worker *w = &http->workers[i];

		if (w->started)
			pthread_join(w->thread, NULL);
		store_free(w->store);
	}
	free(http->workers);
}

/* The library's own checks. The strict level of 0.9.75 has two: of the Host,
 * which it answers with two heads (library.c), and of blanks in the address;
 * admit.c and framing.c have both. */
#if MHD_VERSION < 0x00097701
#define STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#define STRICT_LEVEL  0
#else
#define STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#define STRICT_LEVEL  1
#endif

/* TLS 1.2 is the oldest that RFC 9325 section 3.1.1 allows. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static int start_daemon(struct http *http)
{
	const struct http_params *p = &http->params;
	/* not constant: that is the library's interface */
	char priorities[] = TLS_PRIORITIES;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, NULL},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, priorities},
		{MHD_OPTION_END, 0, NULL},
	};

	if (p->tls) {
		tls[0].option = MHD_OPTION_HTTPS_MEM_CERT;
		tls[0].ptr_value = p->tls->certificate;
		tls[1].ptr_value = p->tls->key;
	}
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG | (p->tls ? MHD_USE_TLS : 0),
		0, http_on_accept, http, http_on_request, http,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, http,
		MHD_OPTION_LISTEN_SOCKET, http->listen_fd,
		MHD_OPTION_THREAD_POOL_SIZE, p->threads,
		MHD_OPTION_CONNECTION_LIMIT, p->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
		http_on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
		http_on_connection, http, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_escaped, NULL, STRICT_OPTION, STRICT_LEVEL,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (http->daemon)
		return 0;
	if (p->tls)
		log_error("cannot serve HTTPS on %s: is the key that of the "
			  "certificate? (%s)",
			  http->address, http->start_error);
	else
		log_error("cannot start the HTTP server on %s: %s",
			  http->address, http->start_error);
	return -EIO;
}

/* Each connection is a descriptor; so are the database's files and uploads. */
static void raise_descriptors(unsigned connections)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) ||
	    limit.rlim_cur >= connections + OTHER_DESCRIPTORS)
		return;
	limit.rlim_cur = connections + OTHER_DESCRIPTORS;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) ||
	    limit.rlim_cur < connections + OTHER_DESCRIPTORS)
		log_warning("%u connections need %u open files, the limit is "
			    "%llu: raise LimitNOFILE or lower connections",
			    connections, connections + OTHER_DESCRIPTORS,
			    (unsigned long long)limit.rlim_cur);
}

static int start_peers(struct http *http)
{
	const struct peers_params params = {
		.per_address = http->params.per_address,
		.header_ns = http->params.header_s * NS_PER_S,
		.exempt = &http->params.proxies,
	};

	raise_descriptors(http->params.connections);
	return peers_new(&http->peers, &params);
}

static void set_defaults(struct http_params *p)
{
	if (p->body_bytes == 0)
		p->body_bytes = HTTP_BODY_BYTES;
	if (p->connections == 0)
		p->connections = HTTP_CONNECTIONS;
	if (p->header_s == 0)
		p->header_s = HTTP_HEADER_S;
	if (p->workers == 0)
		p->workers = HTTP_WORKERS;
	if (p->threads == 0)
		p->threads = HTTP_THREADS;
}

int http_start(struct http **ret, const struct http_params *params)
{
	struct http *http;
	int err;

	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->params = *params;
	http->listen_fd = -1;
	set_defaults(&http->params);
	http->params.secure = params->tls != NULL;
	err = listen_open(params->listen, params->tls ? "https" : "http",
			  &http->listen_fd, http->address);
	if (err == 0)
		err = http_queue_new(&http->queue, HTTP_QUEUED_MAX);
	if (err == 0 && http->params.rate_limit)
		err = rate_new(&http->params.rate, http->params.rate_limit,
			       http->params.rate_burst);
	if (err == 0)
		err = start_peers(http);
	if (err == 0)
		err = start_workers(http);
	if (err == 0)
		err = start_daemon(http);
	http->params.tls = NULL;
	if (err) {
		http_stop(http);
		return err;
	}
	*ret = http;
	return 0;
}

const char *http_address(const struct http *http)
{
	return http->address;
}

/* Requests whose answers are still being written. */
static void drain(struct http *http)
{
	const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
	int64_t until = clock_mono_ns() + http->params.drain_ns;

	while (atomic_load_explicit(&http->active, memory_order_relaxed) > 0 &&
	       clock_mono_ns() < until)
		nanosleep(&pause, NULL);
}

struct http *http_stop(struct http *http)
{
	if (!http)
		return NULL;
	if (http->daemon)
		MHD_quiesce_daemon(http->daemon);
	/* closes the queue: every suspended connection is resumed before the
	 * last worker ends, later requests are refused without one */
	stop_workers(http);
	if (http->daemon) {
		drain(http);
		MHD_stop_daemon(http->daemon);
	}
	if (http->listen_fd >= 0)
		close(http->listen_fd);
	peers_free(http->peers);
	http_queue_free(http->queue);
	rate_free(http->params.rate);
	free(http);
	return NULL;
}

void http_wake_parked(struct controller *controller)
{
	struct http *http =
		atomic_load_explicit(&controller->http, memory_order_acquire);

	if (http)
		http_queue_wake(http->queue);
}
