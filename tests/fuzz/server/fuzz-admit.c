/*
 * A request from its head to its admission: Host, X-Forwarded-..., cookies,
 * Authorization, path and query; lists are answered, too. The bits of the first octet
 * of the input (enum credential) say which valid credentials are added to its headers.
 */
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/routes.h"
#include "control/server/http/exchange.h"
#include "control/server/report/error_page.h"
#include "control/server/report/report.h"
#include "control/server/request/controller.h"
#include "control/server/session/session.h"
#include "control/server/store/store.h"
#include "control/server/store/store_key.h"
#include "http_input.h"
#include "tests/fuzz/check.h"
#include "tests/unit/temp.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <sodium.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OURS  "http://127.0.0.1:8080"
#define NAMES "known.example"

enum credential {
	CREDENTIAL_KEY = 1,     /* of the right read */
	CREDENTIAL_SESSION = 2, /* of a user with that right */
	CREDENTIAL_CSRF = 4,
	CREDENTIAL_ADMIN = 8, /* a key of the right admin, instead */
};

struct server {
	struct temp temp;
	struct controller_conf conf;
	struct controller controller;
	struct route_table tables[2];
	struct http_params params;
	struct store *store;
	struct MHD_Daemon *daemon;
	char key[256], admin[256], cookie[128], csrf[96]; /* headers */
	unsigned credentials;                             /* of the input */
};

/* ---- what must hold ---- */

/* Whatever a client writes into Host: links in the answer lead to a name of the
 * configuration or to a loopback address. */
static void check_url(const char *url)
{
	const char *host = strstr(url, "://");
	char name[CLIENT_URL_BYTES];
	struct in_addr in;
	struct in6_addr in6;

	check(host && (strncmp(url, "http:", 5) == 0 ||
		       strncmp(url, "https:", 6) == 0));
	str_print(name, sizeof(name), "%s", host + 3);
	host = name;
	if (name[0] == '[') {
		host = name + 1;
		check(strchr(name, ']') != NULL);
		*strchr(name, ']') = '\0';
		check(inet_pton(AF_INET6, host, &in6) == 1 &&
		      IN6_IS_ADDR_LOOPBACK(&in6));
		return;
	}
	if (strchr(name, ':'))
		*strchr(name, ':') = '\0';
	check(strcasecmp(name, "localhost") == 0 ||
	      strcasecmp(name, NAMES) == 0 ||
	      (inet_pton(AF_INET, name, &in) == 1 &&
	       ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET));
}

static void check_client(const struct exchange *x)
{
	struct in6_addr any;

	check(inet_pton(AF_INET, x->client.address, &any) == 1 ||
	      inet_pton(AF_INET6, x->client.address, &any) == 1);
	check_url(x->client.base_url);
	check(x->request_id[0]);
	for (const char *c = x->request_id; *c; c++)
		check(isalnum((unsigned char)*c) || strchr("-_.:", *c));
}

/* The way back from the login stays on this server. */
static void check_location(const char *value)
{
	static const char login[] = "/login?next=/";
	const char *next = value + strlen(login);

	check(strncmp(value, login, strlen(login)) == 0);
	check(next[0] != '/' && strncmp(next, "%5C", 3) != 0);
	for (; *next; next++)
		check(isalnum((unsigned char)*next) || strchr("-._~/%", *next));
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind,
				    const char *name, const char *value)
{
	(void)arg;
	(void)kind;
	for (const char *c = value; *c; c++)
		check((unsigned char)*c >= ' ' && *c != 0x7f);
	if (strcmp(name, "Location") == 0)
		check_location(value);
	return MHD_YES;
}

static bool changes(const struct exchange *x)
{
	return strcmp(x->method, "GET") != 0 && strcmp(x->method, "HEAD") != 0;
}

/* Who has no credentials gets what needs none. */
static void check_right(const struct server *s, const struct exchange *x)
{
	const unsigned c = s->credentials;

	check(x->route != NULL);
	if (x->route->right == RIGHT_NONE ||
	    (c & CREDENTIAL_ADMIN && x->route->right != RIGHT_AGENT))
		return;
	check(c & (CREDENTIAL_KEY | CREDENTIAL_SESSION));
	check(x->route->right <= RIGHT_READ);
	check(c & (CREDENTIAL_KEY | CREDENTIAL_CSRF) || !changes(x));
}

/* ---- the request ---- */

static bool is_list(const struct exchange *x)
{
	for (size_t i = 0; i < api_query_count; i++)
		if (x->route->handler == api_queries[i].handler)
			return x->table->routes == api_routes && !changes(x);
	return false;
}

static void serve(struct server *s, struct exchange *x)
{
	struct parking parking;

	exchange_admit(x, s->store);
	check_client(x);
	if (!x->response) {
		check_right(s, x);
		if (!is_list(x))
			return;
		check(exchange_serve(x, s->store, &parking) == SERVED_ANSWERED);
		check(x->status == 200 || x->status == 304 ||
		      x->status == 404 || x->status == 422);
	}
	check(x->response && x->status >= 200 && x->status < 500);
	MHD_get_response_headers(x->response, check_header, NULL);
}

static void *on_target(void *arg, const char *target,
		       struct MHD_Connection *connection)
{
	(void)arg;
	(void)connection;
	return exchange_new(target);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *body,
				  size_t *bytes, void **context)
{
	struct exchange *x = *context;
	const struct request_line line = {method, &x->target, version};
	struct server *s = arg;
	struct framing framing;

	(void)body;
	(void)bytes;
	check(exchange_begin(x, &s->params, OURS, connection, method, url) ==
	      0);
	x->needs_host = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	framing_check(&framing, connection, &line);
	if (framing.wrong)
		exchange_refuse(x, 400, framing.wrong);
	else
		serve(s, x);
	return MHD_NO;
}

static void on_completed(void *arg, struct MHD_Connection *connection,
			 void **context, enum MHD_RequestTerminationCode reason)
{
	(void)arg;
	(void)connection;
	(void)reason;
	*context = exchange_free(*context);
}

/* ---- the server ---- */

static struct server server;

static void server_remove(void)
{
	temp_remove(&server.temp);
}

static void key_make(struct server *s, const char *right, char header[256])
{
	char public_key[PUBLIC_KEY_BYTES], secret[SECRET_TOKEN_BYTES];
	char pair[sizeof(public_key) + sizeof(secret)], base64[128];
	int64_t id;

	check(store_key_create(s->store, right, right, 0, public_key, secret,
			       &id) == 0);
	str_print(pair, sizeof(pair), "%s:%s", public_key, secret);
	sodium_bin2base64(base64, sizeof(base64), (unsigned char *)pair,
			  strlen(pair), sodium_base64_VARIANT_ORIGINAL);
	str_print(header, 256, "Authorization: Basic %s\r\n", base64);
}

static void credentials_make(struct server *s)
{
	char secret[SECRET_TOKEN_BYTES], csrf[SESSION_CSRF_BYTES];
	int64_t id;

	key_make(s, "read", s->key);
	key_make(s, "admin", s->admin);
	check(store_user_put(s->store, "u", "x", "read", &id) == 0);
	check(store_session_begin(s->store, id, secret) == 0);
	str_print(s->cookie, sizeof(s->cookie),
		  "Cookie: " SESSION_COOKIE "=%s\r\n", secret);
	session_csrf(s->store, secret, csrf);
	str_print(s->csrf, sizeof(s->csrf), "X-CSRF-Token: %s\r\n", csrf);
}

static void server_start(struct server *s)
{
	static const struct http_input_handlers handlers = {
		.target = on_target,
		.request = on_request,
		.completed = on_completed,
		.arg = &server,
	};

	check(sodium_init() >= 0);
	log_level_set(LOG_LEVEL_ERROR);
	temp_make(&s->temp);
	atexit(server_remove);
	check(secrets_load(&s->controller.secrets,
			   temp_path(&s->temp, "key")) == 0);
	check(database_open(&s->controller.database, temp_path(&s->temp, "db"),
			    s->controller.secrets) == 0);
	check(store_new(&s->store, s->controller.database) == 0);
	credentials_make(s);
	s->conf.page_limit = 1000;
	s->controller.conf = &s->conf;
	s->tables[0] = (struct route_table){
		.prefix = "/api/v2",
		.routes = api_routes,
		.count = api_route_count,
		.queries = api_queries,
		.query_count = api_query_count,
	};
	s->tables[1] = (struct route_table){
		.prefix = "",
		.routes = report_routes,
		.count = report_route_count,
		.error_page = error_page,
	};
	s->params = (struct http_params){
		.controller = &s->controller,
		.database = s->controller.database,
		.host_names = NAMES,
		.tables = s->tables,
		.table_count = 2,
		.body_bytes = HTTP_BODY_BYTES,
	};
	check(netlist_parse(&s->params.proxies, "127.0.0.0/8, 10.0.0.0/8") ==
	      0);
	s->daemon = http_input_start(&handlers);
}

/* Add a header behind the request line. */
static size_t add(char *head, size_t bytes, const char *header)
{
	char *end = memmem(head, bytes, "\r\n", 2);
	const size_t len = strlen(header);

	if (!end)
		return bytes;
	end += 2;
	memmove(end + len, end, bytes - (size_t)(end - head));
	memcpy(end, header, len);
	return bytes + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct server *s = &server;
	char *head;

	if (!s->daemon)
		server_start(s);
	if (size < 1)
		return 0;
	head = malloc(size + sizeof(s->admin) + sizeof(s->cookie) +
		      sizeof(s->csrf));
	check(head != NULL);
	s->credentials = data[0];
	size--;
	memcpy(head, data + 1, size);
	if (s->credentials & CREDENTIAL_ADMIN)
		size = add(head, size, s->admin);
	else if (s->credentials & CREDENTIAL_KEY)
		size = add(head, size, s->key);
	if (s->credentials & CREDENTIAL_SESSION)
		size = add(head, size, s->cookie);
	if (s->credentials & CREDENTIAL_CSRF)
		size = add(head, size, s->csrf);
	http_input_send(s->daemon, head, size, 0);
	free(head);
	return 0;
}
