/* What libmicrohttpd calls: connections come and go, requests arrive. */
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/http/framing.h"
#include "control/server/http/http_internal.h"
#include "control/server/http/peers.h"

#include <errno.h>
#include <string.h>

static enum MHD_Result send_response(struct exchange *x)
{
	if (!x->response)
		return MHD_NO;
	return MHD_queue_response(x->connection, x->status, x->response);
}

/* Give it to the workers: to admit its body, or complete to serve it. */
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
		err = x->too_large ? 0 : exchange_spool(x, data, len);
		if (err && err != -EFBIG) {
			log_error("an upload was not kept: %s", strerror(-err));
			return MHD_NO;
		}
		x->too_large |= err != 0;
		return MHD_YES;
	}
	if (!x->too_large && buf_add(&x->body, data, len))
		x->too_large = true;
	if (x->too_large)
		buf_release(&x->body);
	return MHD_YES;
}

/* The headers are there. */
static enum MHD_Result begin(struct http *http, struct exchange *x,
			     const struct request_line *request)
{
	struct framing framing;

	framing_check(&framing, x->connection, request);
	/* Nothing behind a chunked body is read, either: the library takes
	 * lines of chunks that others refuse. */
	x->last = framing.wrong || framing.chunked;
	if (framing.wrong) {
		exchange_refuse(x, 400, framing.wrong);
		return send_response(x);
	}
	/* relaxed: it only counts */
	if (x->upload_rule &&
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
		return MHD_YES; /* answering now would force a close */
	x->admitting = true;
	return dispatch(http, x);
}

/* An upload's credentials and rights are checked: read its body, or answer. A
 * small body that nobody asked to hold back is thrown away first: a client
 * that is still sending it would not see the answer before the close. */
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

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *data,
				size_t *data_len, void **context)
{
	struct http *http = cls;
	struct exchange *x = *context;
	const struct request_line request = {method, url, version};
	enum MHD_Result result;

	if (!x) {
		if (exchange_new(&x, &http->params, http->address, connection,
				 method, url))
			return MHD_NO;
		atomic_fetch_add_explicit(&http->active, 1,
					  memory_order_relaxed);
		*context = x;
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

void http_on_completed(void *cls, struct MHD_Connection *connection,
		       void **context, enum MHD_RequestTerminationCode reason)
{
	struct http *http = cls;
	struct exchange *x;

	(void)reason;
	if (!*context)
		return;
	peers_idle(http->peers, peer_of(connection));
	x = *context;
	http_count_answer(http, x);
	if (x->upload_rule)
		atomic_fetch_sub_explicit(&http->uploads, 1,
					  memory_order_relaxed);
	*context = exchange_free(x);
	atomic_fetch_sub_explicit(&http->active, 1, memory_order_relaxed);
}

enum MHD_Result http_on_accept(void *cls, const struct sockaddr *address,
			       socklen_t len)
{
	struct http *http = cls;

	(void)len;
	return peers_admit(http->peers, address) ? MHD_YES : MHD_NO;
}

void http_on_connection(void *cls, struct MHD_Connection *connection,
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
}
