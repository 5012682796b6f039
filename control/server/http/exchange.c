#include "control/server/http/exchange.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/http/auth.h"
#include "control/server/http/body.h"
#include "control/server/http/rate.h"
#include "control/server/http/repeat.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JSON_TYPE "application/json"

/* The prefix's table: the longest that begins the path. */
static const struct route_table *find_table(const struct exchange *x)
{
	const struct route_table *best = NULL;

	for (size_t i = 0; i < x->params->table_count; i++) {
		const struct route_table *t = &x->params->tables[i];
		size_t len = strlen(t->prefix);

		if (strncmp(x->raw_path, t->prefix, len) == 0 &&
		    (x->raw_path[len] == '/' || x->raw_path[len] == '\0') &&
		    (!best || len > strlen(best->prefix)))
			best = t;
	}
	return best;
}

static const struct http_upload *find_upload(struct exchange *x)
{
	const struct route_table *table = find_table(x);
	struct route_match match = {.route = NULL};

	if (!table ||
	    (strcmp(x->method, "POST") != 0 && strcmp(x->method, "PUT") != 0) ||
	    path_split(&x->path, x->raw_path + strlen(table->prefix)))
		return NULL;
	route_find(table, &x->path, x->method, &match);
	for (size_t i = 0; match.route && i < x->params->upload_count; i++) {
		const struct http_upload *u = &x->params->uploads[i];

		if (strcmp(match.route->path, u->path) == 0 &&
		    strcmp(match.route->method, u->method) == 0)
			return u;
	}
	return NULL;
}

int exchange_new(struct exchange **ret, const struct http_params *params,
		 const char *address, struct MHD_Connection *connection,
		 const char *method, const char *raw_path)
{
	struct exchange *x;

	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->raw_path = strdup(raw_path);
	if (!x->raw_path) {
		free(x);
		return -ENOMEM;
	}
	if (str_copy(x->method, sizeof(x->method), method))
		str_copy(x->method, sizeof(x->method), "?"); /* 405 */
	x->params = params;
	x->address = address;
	x->connection = connection;
	x->started_ns = clock_mono_ns();
	x->spool_fd = -1;
	x->upload_rule = find_upload(x);
	buf_init(&x->body, params->body_bytes);
	*ret = x;
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

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			x->spooled += (size_t)n;
		}
	}
	return 0;
}

static const char *request_header(const struct request *req, const char *name)
{
	const struct exchange *x = req->http;

	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
					   name);
}

/* A client's own id is taken if it can do no harm in a log or a header. */
static void set_request_id(struct exchange *x)
{
	const char *given = MHD_lookup_connection_value(
		x->connection, MHD_HEADER_KIND, "X-Request-Id");
	size_t i;

	if (x->request_id[0])
		return;
	for (i = 0; given && given[i] && i < REQUEST_ID_BYTES; i++) {
		if (!isalnum((unsigned char)given[i]) &&
		    !strchr("-_.:", given[i]))
			break;
	}
	if (given && i > 0 && i < REQUEST_ID_BYTES && !given[i])
		str_copy(x->request_id, sizeof(x->request_id), given);
	else
		uuid_make(x->request_id);
}

static void peer_address(struct exchange *x, char *text, socklen_t size)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *in;
		const struct sockaddr_in6 *in6;
	} u = {.any = info->client_addr};
	const void *number = u.any->sa_family == AF_INET6
				     ? (const void *)&u.in6->sin6_addr
				     : (const void *)&u.in->sin_addr;

	if (!inet_ntop(u.any->sa_family, number, text, size))
		str_copy(text, size, "unknown");
}

static void find_client(struct exchange *x)
{
	char peer[CLIENT_ADDRESS_BYTES];
	const struct client_facts facts = {
		.peer = peer,
		.tls = x->params->secure,
		.host = request_header(&x->request, "Host"),
		.forwarded_for = request_header(&x->request, "X-Forwarded-For"),
		.forwarded_proto =
			request_header(&x->request, "X-Forwarded-Proto"),
		.public_url = x->params->public_url,
		.ours = x->address,
	};

	peer_address(x, peer, sizeof(peer));
	client_find(&x->client, &facts, &x->params->proxies);
}

struct arguments {
	json_t *query;
	bool broken;
};

static enum MHD_Result add_argument(void *cls, enum MHD_ValueKind kind,
				    const char *name, const char *value)
{
	struct arguments *a = cls;
	char *name_copy = strdup(name);
	char *value_copy = strdup(value ? value : "");

	(void)kind;
	/* libmicrohttpd has made blanks of '+' and left the escapes to us */
	if (!name_copy || !value_copy || percent_decode(name_copy, false) < 0 ||
	    percent_decode(value_copy, false) < 0)
		a->broken = true;
	else
		json_array_append_new(
			a->query, json_pack("[s, s]", name_copy, value_copy));
	free(name_copy);
	free(value_copy);
	return MHD_YES;
}

static bool parse_query(struct exchange *x)
{
	struct arguments a = {.query = json_array()};

	MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND,
				  add_argument, &a);
	x->request.query = a.query;
	return !a.broken;
}

static bool route_request(struct exchange *x, struct reply *rep)
{
	const struct route_table *table = find_table(x);
	struct request *req = &x->request;
	struct route_match match = {.route = NULL};
	const char *below;
	int err;

	if (!table) {
		reply_problem(rep, 404, "no such page");
		return false;
	}
	below = x->raw_path + strlen(table->prefix);
	err = path_split(&x->path, below);
	if (err == -EILSEQ || !parse_query(x)) {
		reply_problem(rep, 400,
			      "the address is not percent-encoded "
			      "UTF-8 text");
		return false;
	}
	if (err == 0)
		route_find(table, &x->path, x->method, &match);
	if (!match.route && match.allow[0] &&
	    strcmp(x->method, "OPTIONS") == 0) {
		rep->status = 204;
		reply_header(rep, "Allow", "%s, OPTIONS", match.allow);
		return false;
	}
	if (!match.route && match.allow[0]) {
		reply_problem(rep, 405, "%s is not possible here; %s is",
			      x->method, match.allow);
		reply_header(rep, "Allow", "%s", match.allow);
		return false;
	}
	if (!match.route) {
		reply_problem(rep, 404, "there is nothing at this address");
		return false;
	}
	x->route = match.route;
	x->prefix = table->prefix;
	memcpy(req->params, match.params, sizeof(match.params));
	req->path = *below ? below : "/";
	return true;
}

/* A browser that asks for a page, not for data, and has no key. */
static bool wants_login(const struct exchange *x)
{
	const char *accept = request_header(&x->request, "Accept");

	return x->prefix[0] == '\0' && accept && strstr(accept, "text/html") &&
	       !request_header(&x->request, "Authorization");
}

static bool authorize(struct exchange *x, struct reply *rep)
{
	int err = auth_check(&x->request, x->route->right);

	switch (err) {
	case 0:
		return true;
	case -EACCES:
		if (wants_login(x)) {
			rep->status = 303;
			reply_header(rep, "Location", "/login?next=%s",
				     x->raw_path);
			return false;
		}
		reply_problem(rep, 401, "the credentials are missing or wrong");
		reply_header(rep, "WWW-Authenticate",
			     "Basic realm=\"offhook\", charset=\"UTF-8\"");
		return false;
	case -EPERM:
		reply_problem(rep, 403,
			      x->request.key_id < 0
				      ? "you have not the right to do it"
				      : "this key has not the right to do it");
		return false;
	case -ESTALE:
		reply_problem(rep, 403,
			      "X-CSRF-Token is missing or not that of the "
			      "session");
		return false;
	default:
		reply_problem(rep, 503, "the database does not answer");
		reply_header(rep, "Retry-After", "5");
		return false;
	}
}

static long long whole_seconds(int64_t ns)
{
	return (long long)((ns + NS_PER_S - 1) / NS_PER_S);
}

/* Agents are not limited: their number and pace are ours to set. The headers
 * are those of draft-ietf-httpapi-ratelimit-headers-06. */
static bool within_rate(struct exchange *x, struct reply *rep)
{
	const struct http_params *params = x->params;
	struct rate_left left;
	int64_t wait_ns;

	if (!params->rate || !x->request.key_id)
		return true;
	wait_ns = rate_take(params->rate, x->request.key_id, clock_mono_ns(),
			    &left);
	reply_header(rep, "RateLimit-Limit", "%u",
		     (unsigned)params->rate_burst);
	reply_header(rep, "RateLimit-Remaining", "%u", (unsigned)left.tokens);
	reply_header(rep, "RateLimit-Reset", "%lld",
		     whole_seconds(left.full_ns));
	if (wait_ns == 0)
		return true;
	reply_problem(rep, 429, "this key sends more than %u requests a second",
		      (unsigned)params->rate_limit);
	reply_header(rep, "Retry-After", "%lld", whole_seconds(wait_ns));
	return false;
}

/* The whole body is the file. */
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

/* A form may hold a file; anything else is not larger than elsewhere. */
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
			      x->params->body_bytes, &x->file);
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
	const char *type = request_header(&x->request, "Content-Type");
	struct body body;
	int err;

	if ((x->body.used == 0 && x->spooled == 0) ||
	    strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0)
		return true;
	if (x->upload_rule)
		err = parse_upload(x, type, &body);
	else
		err = body_parse(&body, type, x->body.data, x->body.used);
	buf_release(&x->body);
	switch (err) {
	case 0:
		x->request.body = body.object;
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

static bool admit(struct exchange *x, struct store *store, struct reply *rep)
{
	struct request *req = &x->request;

	req->store = store;
	if (x->admitted)
		return true;
	x->admitted = true;
	set_request_id(x);
	req->http = x;
	find_client(x);
	req->controller = x->params->controller;
	req->method = x->method;
	req->request_id = x->request_id;
	req->remote_addr = x->client.address;
	req->base_url = x->client.base_url;
	req->secure = x->client.secure;
	req->header = request_header;
	return route_request(x, rep) && authorize(x, rep) &&
	       within_rate(x, rep);
}

static bool prepare(struct exchange *x, struct store *store, struct reply *rep)
{
	x->prepared = true;
	if (!admit(x, store, rep))
		return false;
	if (x->too_large) {
		reply_problem(rep, 413, "the body is larger than %zu bytes",
			      x->upload_rule ? x->params->upload_bytes
					     : x->params->body_bytes);
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

/* Make the response; takes over what the reply holds. */
static void build_response(struct exchange *x, struct reply *rep)
{
	const char *type = rep->content_type ? rep->content_type : JSON_TYPE;
	char *text = rep->text;
	size_t len = rep->text_len;
	const char *name;
	json_t *value;

	if (rep->body && rep->status >= 400 &&
	    json_object_get(rep->body, "title")) {
		json_object_set_new(rep->body, "instance",
				    json_string(x->raw_path));
		json_object_set_new(rep->body, "request_id",
				    json_string(x->request_id));
	}
	if (rep->body) {
		text = json_dumps(rep->body, JSON_COMPACT);
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
		add_header(x->response, "X-Request-Id", x->request_id);
		add_header(x->response, "X-Content-Type-Options", "nosniff");
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
	log_debug("%s %s %s: %u in %.1f ms request=%s", x->client.address,
		  x->method, x->raw_path, x->status,
		  (double)(clock_mono_ns() - x->started_ns) / NS_PER_MS,
		  x->request_id);
}

void exchange_admit(struct exchange *x, struct store *store)
{
	struct reply rep = {.status = 0};

	if (admit(x, store, &rep)) {
		/* the rate's headers: the answer says them */
		x->headers = rep.headers;
		return;
	}
	build_response(x, &rep);
	log_request(x);
}

enum served exchange_serve(struct exchange *x, struct store *store,
			   int64_t *park_ns)
{
	struct reply rep = {.status = 0, .headers = x->headers};

	x->headers = NULL;
	x->request.waited = x->item.expired;
	if (x->prepared || prepare(x, store, &rep))
		repeat_serve(x->route, &x->request, &rep);
	if (rep.park_ms > 0 && !x->request.waited) {
		json_decref(rep.body);
		json_decref(rep.headers);
		free(rep.text);
		*park_ns = (int64_t)rep.park_ms * NS_PER_MS;
		return SERVED_PARKED;
	}
	if (rep.status == 0) {
		log_error("%s %s: its handler gave no answer", x->method,
			  x->route ? x->route->path : x->raw_path);
		reply_problem(&rep, 500, "no answer was made");
	}
	if (x->route && x->route->successor) {
		reply_header(&rep, "Deprecation", "true");
		reply_header(&rep, "Link", "<%s%s>; rel=\"successor-version\"",
			     x->prefix, x->route->successor);
	}
	build_response(x, &rep);
	log_request(x);
	return SERVED_ANSWERED;
}

void exchange_refuse(struct exchange *x, unsigned status, const char *detail)
{
	struct reply rep = {.status = 0};

	set_request_id(x);
	reply_problem(&rep, status, "%s", detail);
	if (status == 503)
		reply_header(&rep, "Retry-After", "5");
	build_response(x, &rep);
}
