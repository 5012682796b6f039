#include "control/server/http/exchange.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/http/admit.h"
#include "control/server/http/library.h"
#include "control/server/http/repeat.h"
#include "control/server/request/body.h"
#include "control/server/request/request.h"
#include "control/wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JSON_TYPE "application/json"
/* RFC 9745 section 2: 2026-11-21, the start of the API: these routes were
 * deprecated from the beginning. */
#define DEPRECATED_SINCE "@1795219200"

struct exchange *exchange_new(const char *target)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->spool_fd = -1;
	framing_look(&x->target, target);
	return x;
}

int exchange_begin(struct exchange *x, const struct http_params *params,
		   const char *address, struct MHD_Connection *connection,
		   const char *method, const char *raw_path)
{
	x->raw_path = strdup(raw_path);
	if (!x->raw_path)
		return -ENOMEM;
	if (str_copy(x->method, sizeof(x->method), method))
		str_copy(x->method, sizeof(x->method), "?"); /* 405 */
	x->params = params;
	x->address = address;
	x->connection = connection;
	x->started_ns = clock_mono_ns();
	x->upload_rule = admit_upload(x);
	buf_init(&x->body, params->body_bytes);
	return 0;
}

struct exchange *exchange_free(struct exchange *x)
{
	if (!x)
		return NULL;
	json_decref(x->request.query);
	json_decref(x->request.body);
	json_decref(x->headers);
	buf_release(&x->body);
	if (x->mapped)
		munmap(x->mapped, x->spooled);
	if (x->spool_fd >= 0)
		close(x->spool_fd);
	if (x->response)
		MHD_destroy_response(x->response);
	free(x->raw_path);
	free(x);
	return NULL;
}

int exchange_spool(struct exchange *x, const char *data, size_t len)
{
	if (x->spool_fd < 0)
		x->spool_fd = open(x->params->upload_dir,
				   O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (x->spool_fd < 0)
		return -errno;
	if (len > x->params->upload_bytes - x->spooled)
		return -EFBIG;
	while (len > 0) {
		ssize_t n = write(x->spool_fd, data, len);

		if (n < 0 && errno != EINTR) {
			const int err = -errno;

			close(x->spool_fd); /* gives its room back */
			x->spool_fd = -1;
			x->spooled = 0;
			return err;
		}
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			x->spooled += (size_t)n;
		}
	}
	return 0;
}

/* Take an upload whose whole body is the file. */
static int take_upload(struct exchange *x, const char *type, struct body *body)
{
	memset(body, 0, sizeof(*body));
	x->upload = (struct upload){
		.data = x->mapped,
		.len = x->spooled,
		.filename = "",
		.media_type = type ? type : "",
	};
	x->request.upload = &x->upload;
	return 0;
}

/* Parse a form with a file; the rest of the body has the usual limit. */
static int parse_upload(struct exchange *x, const char *type, struct body *body)
{
	void *mapped =
		mmap(NULL, x->spooled, PROT_READ, MAP_PRIVATE, x->spool_fd, 0);
	int err;

	if (mapped == MAP_FAILED)
		return -ENOMEM;
	x->mapped = mapped;
	if (!x->upload_rule->form)
		return take_upload(x, type, body);
	err = body_parse_file(body, type, mapped, x->spooled,
			      x->params->json_depth, x->params->body_bytes,
			      &x->file);
	if (err == 0 && x->file.data) {
		x->upload = (struct upload){
			.data = x->file.data,
			.len = x->file.len,
			.filename = x->file.filename,
			.media_type = x->file.media_type,
		};
		x->request.upload = &x->upload;
	}
	return err;
}

static bool parse_body(struct exchange *x, struct reply *rep)
{
	const char *type = x->request.header(&x->request, "Content-Type");
	struct body body;
	int err;

	if ((x->body.used == 0 && x->spooled == 0) ||
	    strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0)
		return true;
	if (x->upload_rule)
		err = parse_upload(x, type, &body);
	else
		err = body_parse(&body, type, x->body.data, x->body.used,
				 x->params->json_depth);
	/* agents' numbers are left as sent: control/wire decodes them, the
	 * store keeps their text */
	if (err == 0 && x->route->right == RIGHT_AGENT && !x->upload_rule)
		x->request.body_text =
			(struct json_text){x->body.data, x->body.used};
	else
		buf_release(&x->body);
	switch (err) {
	case 0:
		x->request.body = body.object;
		if (x->route->right != RIGHT_AGENT)
			body_whole_numbers(body.object);
		x->request.body_is_form = body.is_form;
		return true;
	case -EMEDIUMTYPE:
		reply_problem(rep, 415,
			      "the body must be application/json, "
			      "application/x-www-form-urlencoded or "
			      "multipart/form-data");
		return false;
	case -EFBIG:
		reply_problem(rep, 413,
			      "the body without the file is "
			      "larger than %zu bytes",
			      x->params->body_bytes);
		return false;
	case -EBADMSG:
		reply_problem(rep, 422, "%s", body.reason);
		reply_pointer(rep, "", "%s", body.reason);
		return false;
	default:
		reply_problem(rep, 500, "out of memory");
		return false;
	}
}

static bool prepare(struct exchange *x, struct reply *rep)
{
	x->prepared = true;
	if (!admit(x, rep))
		return false;
	if (x->too_large) {
		reply_problem(rep, 413, "the body is larger than %zu bytes",
			      x->upload_rule ? x->params->upload_bytes
					     : x->params->body_bytes);
		return false;
	}
	if (x->no_memory) {
		reply_unavailable(rep, REPLY_RETRY_S, "out of memory");
		return false;
	}
	if (x->upload_err) {
		reply_file_error(rep, x->upload_err);
		return false;
	}
	return parse_body(x, rep);
}

static void add_header(struct MHD_Response *response, const char *name,
		       const char *value)
{
	if (MHD_add_response_header(response, name, value) != MHD_YES)
		log_warning("response header %s was refused", name);
}

/* RFC 6797 section 7: sent over TLS only. A trusted proxy may terminate TLS. */
static void add_hsts(struct exchange *x)
{
	char value[32];

	if (!x->params->secure && !x->client.secure)
		return;
	str_print(value, sizeof(value), "max-age=%u",
		  (unsigned)x->params->hsts_s);
	add_header(x->response, "Strict-Transport-Security", value);
}

/* Put a page in place of a problem. */
static void make_page(const struct exchange *x, struct reply *rep)
{
	unsigned status = rep->status;
	json_t *problem = rep->body;

	if (admit_table(x)->error_page(problem, rep))
		return; /* out of memory: problem+json is an answer as well */
	reply_header(rep, "Vary", "Accept");
	rep->status = status;
	rep->body = NULL;
	json_decref(problem);
}

/* Make the response; takes over the contents of the reply. */
static void build_response(struct exchange *x, struct reply *rep)
{
	const char *name, *type;
	size_t len;
	char *text;
	json_t *value;

	if (rep->body && rep->status >= 400 &&
	    json_object_get(rep->body, "title")) {
		/* a path that is not UTF-8 cannot be a JSON string */
		value = json_string(x->raw_path);
		json_object_set_new(rep->body, "instance",
				    value ? value : json_string("/"));
		json_object_set_new(rep->body, "request_id",
				    json_string(x->request_id));
		if (admit_is_page(x))
			make_page(x, rep);
	}
	type = rep->content_type ? rep->content_type : JSON_TYPE;
	text = rep->text;
	len = rep->text_len;
	if (rep->body) {
		text = json_dumps(rep->body, JSON_COMPACT | JSON_DECIMAL);
		len = text ? strlen(text) : 0;
		if (!text)
			rep->status = 500;
	}
	x->status = rep->status;
	if (rep->has_file)
		x->response = MHD_create_response_from_fd64(rep->file_len,
							    rep->file_fd);
	else
		x->response = MHD_create_response_from_buffer(
			len, text,
			text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (x->response) {
		if (text || rep->has_file)
			add_header(x->response, "Content-Type", type);
		add_header(x->response, REQUEST_ID_HEADER, x->request_id);
		add_header(x->response, "X-Content-Type-Options", "nosniff");
		if (x->last)
			add_header(x->response, "Connection", "close");
		add_hsts(x);
		if (!json_object_get(rep->headers, "Cache-Control"))
			add_header(x->response, "Cache-Control", "no-store");
		json_object_foreach(rep->headers, name, value)
			add_header(x->response, name, json_string_value(value));
	} else {
		free(text);
		if (rep->has_file)
			close(rep->file_fd);
	}
	json_decref(rep->body);
	json_decref(rep->headers);
}

static void log_request(const struct exchange *x)
{
	if (!x->response) {
		log_error("%s %s %s: out of memory, the connection is closed",
			  x->client.address, x->method, x->raw_path);
		return;
	}
	log_debug("%s %s %s: %u in %.1f ms request=%s", x->client.address,
		  x->method, x->raw_path, x->status,
		  (double)(clock_mono_ns() - x->started_ns) / NS_PER_MS,
		  x->request_id);
}

void exchange_admit(struct exchange *x, struct store *store)
{
	struct reply rep = {.status = 0};

	x->request.store = store;
	if (admit(x, &rep)) {
		/* RateLimit header fields go into the final answer */
		x->headers = rep.headers;
		return;
	}
	build_response(x, &rep);
	log_request(x);
}

/* Add a Link to the successor's path, with the id of the request's record. */
static void add_successor(const struct exchange *x, struct reply *rep)
{
	const char *path = x->route->successor;
	const char *id = strstr(path, ":id");

	if (!id)
		reply_header(rep, "Link", "<%s%s>; rel=\"successor-version\"",
			     x->table->prefix, path);
	else if (rep->successor_id)
		reply_header(rep, "Link",
			     "<%s%.*s%lld%s>; rel=\"successor-version\"",
			     x->table->prefix, (int)(id - path), path,
			     (long long)rep->successor_id, id + strlen(":id"));
}

enum served exchange_serve(struct exchange *x, struct store *store,
			   struct parking *ret)
{
	struct reply rep = {.status = 0, .headers = x->headers};

	x->headers = NULL;
	/* another worker may take a request that was parked */
	x->request.store = store;
	x->request.waited = x->item.expired;
	x->request.woken = x->item.woken;
	if (x->prepared || prepare(x, &rep))
		repeat_serve(x->route, &x->request, &rep);
	if (rep.park_ms > 0 && !x->request.waited) {
		json_decref(rep.body);
		json_decref(rep.headers);
		free(rep.text);
		*ret = (struct parking){rep.park_kind,
					(int64_t)rep.park_ms * NS_PER_MS};
		return SERVED_PARKED;
	}
	if (rep.status == 0) {
		log_error("%s %s: its handler gave no answer", x->method,
			  x->route ? x->route->path : x->raw_path);
		reply_problem(&rep, 500, "no answer was made");
	}
	if (x->route && x->route->successor) {
		reply_header(&rep, "Deprecation", DEPRECATED_SINCE);
		add_successor(x, &rep);
	}
	build_response(x, &rep);
	log_request(x);
	return SERVED_ANSWERED;
}

void exchange_refuse(struct exchange *x, unsigned status, const char *detail)
{
	struct reply rep = {.status = 0};

	admit_request_id(x);
	if (status == 503)
		reply_unavailable(&rep, REPLY_RETRY_S, "%s", detail);
	else
		reply_problem(&rep, status, "%s", detail);
	build_response(x, &rep);
}
