#include "control/server/http/admit.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/server/http/agent_certificate.h"
#include "control/server/http/auth.h"
#include "control/server/http/rate.h"
#include "control/server/request/controller.h"
#include "control/server/request/query.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A page's path and query, for the way back to it; of a longer one the path. */
#define LOGIN_PAGE_BYTES 1024

const struct route_table *admit_table(const struct exchange *x)
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

const struct http_upload *admit_upload(struct exchange *x)
{
	const struct route_table *table = admit_table(x);
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

static const char *header_of(const struct request *req, const char *name)
{
	const struct exchange *x = req->http;

	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
					   name);
}

struct wanted_cookie {
	const char *name;
	const char *value; /* NULL: not found yet */
};

static enum MHD_Result see_cookie(void *arg, enum MHD_ValueKind kind,
				  const char *name, const char *value)
{
	struct wanted_cookie *wanted = arg;

	(void)kind;
	if (!value || strcmp(name, wanted->name) != 0)
		return MHD_YES;
	wanted->value = value;
	return MHD_NO; /* no more */
}

/* Cookie names are case-sensitive; MHD_lookup_connection_value() ignores case.
 */
static const char *cookie_of(const struct request *req, const char *name)
{
	const struct exchange *x = req->http;
	struct wanted_cookie wanted = {.name = name, .value = NULL};

	MHD_get_connection_values(x->connection, MHD_COOKIE_KIND, see_cookie,
				  &wanted);
	return wanted.value;
}

/* Accept the client's id if it is safe in a log line and a header field. */
void admit_request_id(struct exchange *x)
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

static void address_text(const struct sockaddr *address, char *text,
			 socklen_t size)
{
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *in;
		const struct sockaddr_in6 *in6;
	} u = {.any = address};
	const void *number = u.any->sa_family == AF_INET6
				     ? (const void *)&u.in6->sin6_addr
				     : (const void *)&u.in->sin_addr;

	if (!inet_ntop(u.any->sa_family, number, text, size))
		str_copy(text, size, "unknown");
}

static void peer_address(struct exchange *x, char *text, socklen_t size)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	address_text(info->client_addr, text, size);
}

/* Write the local address of the connection, and a URL with it: the server may
 * listen on all addresses. */
static void local_address(struct exchange *x, char text[CLIENT_ADDRESS_BYTES],
			  char url[CLIENT_URL_BYTES])
{
	const char mapped[] = "::ffff:"; /* IPv4, dual stack */
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(bound);
	const char *port = strrchr(x->address, ':');

	str_copy(text, CLIENT_ADDRESS_BYTES, "unknown");
	str_copy(url, CLIENT_URL_BYTES, x->address);
	if (!info || !port ||
	    getsockname(info->connect_fd, (struct sockaddr *)&bound, &len) ||
	    (bound.ss_family != AF_INET && bound.ss_family != AF_INET6))
		return;
	address_text((struct sockaddr *)&bound, text, CLIENT_ADDRESS_BYTES);
	if (strncmp(text, mapped, strlen(mapped)) == 0)
		memmove(text, text + strlen(mapped),
			strlen(text + strlen(mapped)) + 1);
	str_print(url, CLIENT_URL_BYTES,
		  strchr(text, ':') ? "%s://[%s]%s" : "%s://%s%s",
		  x->params->secure ? "https" : "http", text, port);
}

static void find_client(struct exchange *x)
{
	char peer[CLIENT_ADDRESS_BYTES], local[CLIENT_ADDRESS_BYTES];
	char ours[CLIENT_URL_BYTES];
	const struct client_facts facts = {
		.peer = peer,
		.tls = x->params->secure,
		.host = header_of(&x->request, "Host"),
		.forwarded_for = header_of(&x->request, "X-Forwarded-For"),
		.forwarded_proto = header_of(&x->request, "X-Forwarded-Proto"),
		.public_url = x->params->public_url,
		.names = x->params->host_names,
		.local = local,
		.ours = ours,
	};

	peer_address(x, peer, sizeof(peer));
	local_address(x, local, ours);
	client_find(&x->client, &facts, &x->params->proxies);
}

struct hosts {
	unsigned count;
	bool valid;
};

static enum MHD_Result see_host(void *arg, enum MHD_ValueKind kind,
				const char *name, const char *value)
{
	struct hosts *hosts = arg;

	(void)kind;
	if (strcasecmp(name, "Host") != 0)
		return MHD_YES;
	hosts->count++;
	/* the characters of RFC 3986 section 3.2.2, and the port's colon */
	for (; value && *value; value++)
		hosts->valid &= isalnum((unsigned char)*value) ||
				strchr("-._~%!$&'()*+,;=:[]", *value);
	return MHD_YES;
}

/* RFC 9112 section 3.2 */
static bool check_host(struct exchange *x, struct reply *rep)
{
	struct hosts hosts = {.valid = true};

	MHD_get_connection_values(x->connection, MHD_HEADER_KIND, see_host,
				  &hosts);
	if (hosts.count == 0 && x->needs_host)
		reply_problem(rep, 400, "HTTP/1.1 needs the header Host");
	else if (hosts.count > 1)
		reply_problem(rep, 400, "the header Host is there twice");
	else if (!hosts.valid)
		reply_problem(rep, 400, "the header Host is no host");
	return rep->status == 0;
}

static bool route_request(struct exchange *x, struct reply *rep)
{
	const struct route_table *table = admit_table(x);
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
	req->query = query_read(x->connection);
	if (err == -EILSEQ || !req->query) {
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
	x->table = table;
	memcpy(req->params, match.params, sizeof(match.params));
	req->path = *below ? below : "/";
	return true;
}

/* True for a browser outside of the API. */
static bool accepts_page(const struct exchange *x)
{
	const struct route_table *table = admit_table(x);
	const char *accept = MHD_lookup_connection_value(
		x->connection, MHD_HEADER_KIND, "Accept");

	/* addresses below /api that no version has are programs' as well */
	return table && table->error_page && accept &&
	       strstr(accept, "text/html") &&
	       strncmp(x->raw_path, "/api/", 5) != 0 &&
	       strcmp(x->raw_path, "/api") != 0;
}

bool admit_is_page(const struct exchange *x)
{
	return accepts_page(x) && (strcmp(x->method, "GET") == 0 ||
				   strcmp(x->method, "HEAD") == 0);
}

/* Redirect to the login, and from there back to the page with its query. */
static void reply_login(const struct exchange *x, struct reply *rep)
{
	char page[LOGIN_PAGE_BYTES] = "", next[3 * LOGIN_PAGE_BYTES] = "";
	json_t *pair;
	size_t i;

	rep->status = 303;
	if (str_copy(page, sizeof(page), x->raw_path)) {
		reply_header(rep, "Location", "/login?next=/");
		return;
	}
	json_array_foreach(x->request.query, i, pair)
	{
		size_t used = strlen(page);

		str_print(page + used, sizeof(page) - used, i ? "&" : "?");
		query_escape(page, sizeof(page),
			     json_string_value(json_array_get(pair, 0)));
		used = strlen(page);
		str_print(page + used, sizeof(page) - used, "=");
		query_escape(page, sizeof(page),
			     json_string_value(json_array_get(pair, 1)));
	}
	if (strlen(page) + 4 >= sizeof(page)) /* cut: another selection */
		page[strlen(x->raw_path)] = '\0';
	query_escape(next, sizeof(next), page);
	reply_header(rep, "Location", "/login?next=%s", next);
}

static bool authorize(struct exchange *x, struct reply *rep)
{
	int err = auth_check(&x->request, x->route->right);

	switch (err) {
	case 0:
		return true;
	case -EACCES:
		if (accepts_page(x) &&
		    !header_of(&x->request, "Authorization")) {
			reply_login(x, rep);
			return false;
		}
		reply_problem(rep, 401, "the credentials are missing or wrong");
		/* A script of our pages goes to the login by itself. At a
		 * challenge that it knows a browser would ask for a name and
		 * a password, and answer the script only then. */
		reply_header(rep, "WWW-Authenticate", "%s",
			     header_of(&x->request, "X-CSRF-Token")
				     ? "Session realm=\"offhook\""
				     : "Basic realm=\"offhook\", "
				       "charset=\"UTF-8\"");
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
	case -ENOSPC:
		reply_store_error(rep, err, "key");
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

/* Agents are not rate-limited: the controller sets their number and poll
 * interval. The headers are those of draft-ietf-httpapi-ratelimit-headers-06.
 */
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

/* Agents may send query parameters that this version does not know
 * (docs/internals/wire.md). */
static bool query_fits(const struct exchange *x, struct reply *rep)
{
	const struct route_table *table = x->table;
	const char *known = "";

	if (!table->queries || x->route->right == RIGHT_AGENT ||
	    x->route->right == RIGHT_NONE)
		return true;
	for (size_t i = 0; i < table->query_count; i++)
		if (table->queries[i].handler == x->route->handler)
			known = table->queries[i].names;
	return query_check(x->request.query, known, rep);
}

bool admit(struct exchange *x, struct reply *rep)
{
	struct request *req = &x->request;

	if (x->admitted)
		return true;
	x->admitted = true;
	admit_request_id(x);
	req->http = x;
	find_client(x);
	req->controller = x->params->controller;
	req->conf = x->params->controller->conf;
	req->method = x->method;
	req->request_id = x->request_id;
	req->remote_addr = x->client.address;
	req->base_url = x->client.base_url;
	req->secure = x->client.secure;
	req->header = header_of;
	req->cookie = cookie_of;
	req->certified = agent_certificate_check_name;
	return check_host(x, rep) && route_request(x, rep) &&
	       agent_certificate_check(x, rep) && authorize(x, rep) &&
	       agent_certificate_check_owner(x, rep) && within_rate(x, rep) &&
	       query_fits(x, rep);
}
