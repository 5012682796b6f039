#include "control/server/http/http.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/http/client_trust.h"
#include "control/server/http/exchange.h"
#include "control/server/http/framing.h"
#include "control/server/http/listen.h"
#include "control/server/http/peers.h"
#include "control/server/http/queue.h"
#include "control/server/http/rate.h"
#include "control/server/http/rate_sharing.h"
#include "control/server/http/tls.h"
#include "control/server/request/controller.h"
#include "control/server/store/store.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Request line and headers of one connection. */
#define CONNECTION_MEMORY_BYTES (32u << 10)

/* The library's message when accept() failed for want of resources. */
#define NO_RESOURCES         "Hit process or system resource limit"
#define SHORTAGE_INTERVAL_NS (60 * NS_PER_S)

/* Descriptors besides those of connections: readers, uploads, answers. */
#define OTHER_DESCRIPTORS 512u

struct worker;

struct http {
	struct http_params params; /* constant after start */
	char address[LISTEN_ADDRESS_BYTES];
	int listen_fd;
	struct MHD_Daemon *daemon;
	char start_error[160]; /* the library's last error message */
	atomic_int_fast64_t shortage_due_ns; /* relaxed: only when to tell */
	struct peers *peers;
	struct queue *queue;
	struct rate_sharing *rate_sharing; /* NULL: one controller */
	struct worker *workers;
	/* Exchanges between their first and last callback. Relaxed: it is only
	 * polled while stopping, and nothing is published with it. */
	atomic_uint active;
	atomic_uint uploads; /* relaxed: it only counts */
	/* relaxed: they only count */
	atomic_uint_fast64_t answers[6];
	atomic_uint_fast64_t times[HTTP_TIMES_MAX + 1];
	atomic_uint_fast64_t time_ns;
};

struct worker {
	struct http *http;
	struct store *store;
	pthread_t thread;
	bool started;
};

/* No decoding: path.c and query.c decode after splitting. */
static size_t keep_escaped(void *cls, struct MHD_Connection *connection,
			   char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

/* The library accepts no connection until an open one ends. Log it, but not more
 * often than once in SHORTAGE_INTERVAL_NS. */
static void tell_shortage(struct http *http)
{
	const int64_t now = clock_mono_ns();
	int_fast64_t due = atomic_load_explicit(&http->shortage_due_ns,
						memory_order_relaxed);
	struct rlimit limit;

	if (now < due ||
	    !atomic_compare_exchange_strong_explicit(
		    &http->shortage_due_ns, &due, now + SHORTAGE_INTERVAL_NS,
		    memory_order_relaxed, memory_order_relaxed))
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	log_warning("clients wait for a connection: open files or memory ran "
		    "out (%llu open files are allowed): raise LimitNOFILE or "
		    "lower connections",
		    (unsigned long long)limit.rlim_cur);
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
	if (strncmp(line, NO_RESOURCES, strlen(NO_RESOURCES)) == 0)
		tell_shortage(http);
	log_debug("http: %s", line);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct queue_item *item;

	while ((item = http_queue_take(w->http->queue)) != NULL) {
		struct exchange *x = (struct exchange *)item;
		struct parking parking;

		if (x->admitting)
			exchange_admit(x, w->store);
		else if (exchange_serve(x, w->store, &parking) ==
			 SERVED_PARKED) {
			http_queue_park(w->http->queue, item, parking.kind,
					clock_mono_ns(), parking.ns);
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

/* ---- counters; relaxed, as they order nothing ---- */

static const double time_bounds[HTTP_TIMES_MAX] = HTTP_TIMES;

static void count_one(atomic_uint_fast64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static uint64_t counted(atomic_uint_fast64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* An exchange is over: count its answer, if there was one. */
static void count_answer(struct http *http, const struct exchange *x)
{
	const int64_t ns = clock_mono_ns() - x->started_ns;
	size_t i = 0;

	if (!x->response || x->status < 100 || x->status > 599)
		return; /* the connection was lost */
	while (i < HTTP_TIMES_MAX &&
	       (double)ns > time_bounds[i] * (double)NS_PER_S)
		i++;
	count_one(&http->answers[x->status / 100], 1);
	count_one(&http->times[i], 1);
	count_one(&http->time_ns, (uint64_t)ns);
}

static void count(struct http *http, struct http_counters *ret)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < 6; i++)
		ret->answers[i] = counted(&http->answers[i]);
	for (size_t i = 0; i <= HTTP_TIMES_MAX; i++) {
		sum += counted(&http->times[i]);
		ret->times[i] = sum;
	}
	ret->seconds = (double)counted(&http->time_ns) / (double)NS_PER_S;
	ret->queued = http_queue_count(http->queue);
	ret->active = atomic_load_explicit(&http->active, memory_order_relaxed);
}

/* ---- requests: callbacks of libmicrohttpd, on its threads; cls is the struct
 * http ---- */

static enum MHD_Result send_response(struct exchange *x)
{
	if (!x->response)
		return MHD_NO;
	return MHD_queue_response(x->connection, x->status, x->response);
}

/* Queue the exchange for a worker: to admit its body, or to serve it when it is
 * complete. */
static enum MHD_Result dispatch(struct http *http, struct exchange *x)
{
	int err;

	MHD_suspend_connection(x->connection);
	err = http_queue_push(http->queue, &x->item);
	if (err == 0)
		return MHD_YES;
	exchange_refuse(x, 503,
			err == -EAGAIN ? "too many requests are waiting"
				       : "the controller is stopping");
	MHD_resume_connection(x->connection);
	return MHD_YES;
}

static bool announces_too_much(struct MHD_Connection *connection, size_t limit)
{
	const char *text = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, "Content-Length");
	uint64_t len;

	return text && (str_to_u64(text, UINT64_MAX, &len) || len > limit);
}

static enum MHD_Result take_body(struct exchange *x, const char *data,
				 size_t len)
{
	int64_t limit_s = x->upload_rule ? HTTP_UPLOAD_S : HTTP_READ_S;
	int err;

	if (clock_mono_ns() - x->started_ns > limit_s * NS_PER_S)
		return MHD_NO; /* a slow client: its connection ends */
	if (x->response)
		return MHD_YES; /* refused already */
	if (x->upload_rule) {
		if (x->too_large || x->upload_err)
			return MHD_YES; /* the rest of the body is not kept */
		err = exchange_spool(x, data, len);
		x->too_large = err == -EFBIG;
		if (err && !x->too_large) {
			x->upload_err = err;
			log_error("an upload was not kept: %s", strerror(-err));
		}
		return MHD_YES;
	}
	if (x->too_large || x->no_memory)
		return MHD_YES;
	err = buf_add(&x->body, data, len);
	x->no_memory = err == -ENOMEM;
	x->too_large = err == -EMSGSIZE;
	if (err)
		buf_release(&x->body);
	return MHD_YES;
}

/* All header fields were received. */
static enum MHD_Result begin(struct http *http, struct exchange *x,
			     const struct request_line *request)
{
	struct framing framing;

	framing_check(&framing, x->connection, request);
	/* The connection also ends after a chunked body: libmicrohttpd accepts
	 * chunk lines that other parsers refuse. */
	x->last = framing.wrong || framing.chunked;
	if (framing.wrong) {
		exchange_refuse(x, 400, framing.wrong);
		return send_response(x);
	}
	/* relaxed: it only counts */
	x->upload_counted = x->upload_rule != NULL;
	if (x->upload_counted &&
	    atomic_fetch_add_explicit(&http->uploads, 1,
				      memory_order_relaxed) >= HTTP_UPLOADS) {
		exchange_refuse(x, 503, "too many uploads at once");
		return send_response(x);
	}
	if (announces_too_much(x->connection,
			       x->upload_rule ? http->params.upload_bytes
					      : http->params.body_bytes)) {
		exchange_refuse(x, 413, "the body is too large");
		return send_response(x);
	}
	if (!x->upload_rule)
		return MHD_YES; /* an answer now would close the connection */
	x->admitting = true;
	return dispatch(http, x);
}

/* The credentials and rights of an upload were checked: read its body, or
 * answer. Without Expect: 100-continue a small body is read and discarded
 * first: a client that is still sending would not see an answer before the
 * connection closes. */
static enum MHD_Result admitted(struct http *http, struct exchange *x)
{
	x->admitting = false;
	if (x->response &&
	    (MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
					 "Expect") ||
	     announces_too_much(x->connection, http->params.body_bytes)))
		return send_response(x);
	return MHD_YES;
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Called once for the request line. @return the context of on_request(); NULL: out
 * of memory */
static void *on_target(void *cls, const char *target,
		       struct MHD_Connection *connection)
{
	(void)cls;
	(void)connection;
	return exchange_new(target);
}

/* Called once for the headers, then with each piece of the body, then at its
 * end, and again after a resume. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **context)
{
	struct http *http = cls;
	struct exchange *x = *context;
	enum MHD_Result result;

	if (!x)
		return MHD_NO;
	if (!x->raw_path) {
		const struct request_line request = {method, &x->target,
						     version};

		if (exchange_begin(x, &http->params, http->address, connection,
				   method, url))
			return MHD_NO;
		atomic_fetch_add_explicit(&http->active, 1,
					  memory_order_relaxed);
		x->needs_host = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
		peers_busy(http->peers, peer_of(connection));
		return begin(http, x, &request);
	}
	if (x->admitting)
		return admitted(http, x);
	if (*data_len > 0) {
		result = take_body(x, data, *data_len);
		*data_len = 0;
		return result;
	}
	if (x->queued || x->response)
		return send_response(x);
	x->queued = true;
	return dispatch(http, x);
}

/* The answer was sent, or the connection was lost. */
static void on_completed(void *cls, struct MHD_Connection *connection,
			 void **context, enum MHD_RequestTerminationCode reason)
{
	struct http *http = cls;
	struct exchange *x = *context;

	(void)reason;
	if (!x || !x->raw_path) {
		*context = exchange_free(x);
		return;
	}
	peers_idle(http->peers, peer_of(connection));
	count_answer(http, x);
	if (x->upload_counted)
		atomic_fetch_sub_explicit(&http->uploads, 1,
					  memory_order_relaxed);
	*context = exchange_free(x);
	atomic_fetch_sub_explicit(&http->active, 1, memory_order_relaxed);
}

/* @return MHD_NO: the client has too many connections */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *address,
				 socklen_t len)
{
	struct http *http = cls;

	(void)len;
	return peers_admit(http->peers, address) ? MHD_YES : MHD_NO;
}

/* The library could name the authorities of its start only (MHD_OPTION_HTTPS_MEM_TRUST). */
static void ask_certificate(struct http *http,
			    struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	/* not asked, an agent is refused and tries again */
	if (client_trust_ask(http->params.agent_trust, info->tls_session))
		log_debug("http: out of memory for a client certificate");
}

/* The socket stays open until the second call has returned. */
static void on_connection(void *cls, struct MHD_Connection *connection,
			  void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = cls;
	const union MHD_ConnectionInfo *info;
	int fd;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		peers_remove(http->peers, *socket_context);
		*socket_context = NULL;
		return;
	}
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_CONNECTION_FD);
	fd = info->connect_fd;
	info = MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*socket_context = peers_add(http->peers, info->client_addr, fd);
	if (http->params.agent_trust)
		ask_certificate(http, connection);
}

/* ---- start and stop ---- */

/* Level of the library's own checks. The strict level of 0.9.75 checks Host
 * (its response has two heads, see library.c) and blanks in the request target.
 * Both are checked in admit.c and framing.c instead. */
#if MHD_VERSION < 0x00097701
#define STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#define STRICT_LEVEL  0
#else
#define STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#define STRICT_LEVEL  1
#endif

/* TLS 1.2 is the oldest that RFC 9325 section 3.1.1 allows. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Connections that one thread of the library serves. After each response the
 * library walks all suspended connections of that thread, waiting polls of agents
 * among them; so more connections get more threads. */
#define THREAD_CONNECTIONS 2048u

static unsigned thread_count(const struct http_params *p)
{
	const unsigned needed = p->connections / THREAD_CONNECTIONS;

	return needed > p->threads ? needed : p->threads;
}

static int start_daemon(struct http *http)
{
	const struct http_params *p = &http->params;
	/* not constant: that is the library's interface */
	char priorities[] = TLS_PRIORITIES;
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG | (p->secure ? MHD_USE_TLS : 0),
		0, on_accept, http, on_request, http,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, http,
		MHD_OPTION_LISTEN_SOCKET, http->listen_fd,
		MHD_OPTION_THREAD_POOL_SIZE, thread_count(p),
		MHD_OPTION_CONNECTION_LIMIT, p->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		http, MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL, STRICT_OPTION,
		STRICT_LEVEL,
		/* plain HTTP: the options end here */
		p->secure ? MHD_OPTION_HTTPS_CERT_CALLBACK2 : MHD_OPTION_END,
		tls_retrieve, MHD_OPTION_HTTPS_PRIORITIES, priorities,
		MHD_OPTION_END);
	if (http->daemon)
		return 0;
	log_error("cannot start the HTTP server on %s: %s", http->address,
		  http->start_error);
	return -EIO;
}

/* Raise the limit of descriptors: connections, the database's files, uploads.
 * @return connections that leave the others theirs */
static unsigned raise_descriptors(unsigned connections)
{
	const unsigned needed = connections + OTHER_DESCRIPTORS;
	struct rlimit limit;
	unsigned fewer;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return connections;
	limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) &&
	    getrlimit(RLIMIT_NOFILE, &limit))
		return connections;
	if (limit.rlim_cur >= needed)
		return connections;
	fewer = limit.rlim_cur > 2 * OTHER_DESCRIPTORS
			? (unsigned)limit.rlim_cur - OTHER_DESCRIPTORS
			: (unsigned)limit.rlim_cur / 2;
	log_warning("%u connections need %u open files, the limit is %llu: "
		    "at most %u are taken; raise LimitNOFILE or lower "
		    "connections",
		    connections, needed, (unsigned long long)limit.rlim_cur,
		    fewer);
	return fewer;
}

/* Each connection has one request at most, so that the polls of all agents have
 * room. */
static size_t queued_max(const struct http *http)
{
	return http->params.connections > HTTP_QUEUED_MAX
		       ? http->params.connections
		       : HTTP_QUEUED_MAX;
}

static int start_peers(struct http *http)
{
	const struct peers_params params = {
		.per_address = http->params.per_address,
		.header_ns = http->params.header_s * NS_PER_S,
		.exempt = &http->params.proxies,
	};

	http->params.connections = raise_descriptors(http->params.connections);
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

static int start_rate(struct http *http)
{
	struct http_params *p = &http->params;
	int err = rate_new(&p->rate, p->rate_limit, p->rate_burst);

	return err ? err
		   : rate_sharing_start(&http->rate_sharing, p->database,
					p->rate);
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
	err = listen_open(params->listen, params->secure ? "https" : "http",
			  &http->listen_fd, http->address);
	if (err == 0)
		err = http_queue_new(&http->queue, queued_max(http));
	if (err == 0 && http->params.rate_limit)
		err = start_rate(http);
	if (err == 0)
		err = start_peers(http);
	if (err == 0)
		err = start_workers(http);
	if (err == 0)
		err = start_daemon(http);
	if (err) {
		http_stop(http);
		return err;
	}
	*ret = http;
	return 0;
}

/* Wait for requests whose answers are still being written. */
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
	 * last worker ends; later requests are refused by the HTTP threads */
	stop_workers(http);
	if (http->daemon) {
		drain(http);
		MHD_stop_daemon(http->daemon);
	}
	if (http->listen_fd >= 0)
		close(http->listen_fd);
	peers_free(http->peers);
	http_queue_free(http->queue);
	rate_sharing_stop(http->rate_sharing);
	rate_free(http->params.rate);
	free(http);
	return NULL;
}

static void wake_parked(struct http *http, unsigned kinds)
{
	http_queue_wake(http->queue, kinds);
}

static bool is_of_agent(const struct queue_item *item, const void *agent_id)
{
	const struct exchange *x = (const struct exchange *)item;
	const int64_t *id = agent_id;

	return x->request.agent_id == *id;
}

static void end_polls(struct http *http, int64_t agent_id)
{
	http_queue_end(http->queue, PARKED_FOR_JOB, is_of_agent, &agent_id);
}

static const char *address(const struct http *http)
{
	return http->address;
}

const struct http_ops http_ops = {
	.wake_parked = wake_parked,
	.end_polls = end_polls,
	.address = address,
	.count = count,
};
