/**
 * The fields behind request.h, for the HTTP server, which fills in requests
 * and sends replies. Handlers use the functions of request.h.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_DATA_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_DATA_H

#include "control/server/request/parked.h"
#include "control/server/request/route.h"
#include "control/wire/json_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct controller;
struct controller_conf;
struct reply;
struct store;
struct upload;

struct request {
	/* constant while the handler runs, all borrowed */
	struct controller *controller;
	const struct controller_conf *conf;
	struct store *store; /* this worker's view of the database */
	const char *method;
	const char *path;                    /* below the root, no query */
	const char *params[PATH_PARAMS_MAX]; /* path elements, in order */
	json_t *query; /* array of [name, value]: repeats keep their order */
	json_t *body;  /* object; NULL: there was none */
	bool body_is_form;
	struct json_text body_text;  /* of agents: body as it came; or NULL */
	const struct upload *upload; /* uploads only; or NULL */
	const char *request_id;
	const char *remote_addr;
	const char *base_url;
	bool secure; /* the client speaks TLS */
	const char *(*header)(const struct request *, const char *name);
	const char *(*cookie)(const struct request *, const char *name);
	bool (*certified)(struct request *, struct reply *, const char *agent);
	enum api_right right; /* what the caller's key may do */
	int64_t key_id;       /* API key; negative: a user of the pages; or 0 */
	int64_t agent_id;     /* agent, or 0 */
	const char *started;  /* request_started() */
	bool waited;          /* long-poll: this is the last call, answer now */
	bool woken;           /* long-poll: request_woken() */
	void *http;           /* the http layer's own */
};

struct reply {
	unsigned status; /* 0: there is no reply yet */
	json_t *body;    /* owned; sent as JSON; NULL: empty body */
	char *text;      /* instead of body: owned, with content_type */
	size_t text_len;
	bool has_file; /* instead of body and text: this file */
	int file_fd;   /* owned */
	uint64_t file_len;
	const char *content_type; /* NULL: application/json */
	json_t *headers;          /* object name -> value, owned; may be NULL */
	uint32_t park_ms;         /* > 0: reply_park() */
	enum parked park_kind;    /* with park_ms */
	int64_t successor_id;     /* reply_successor(); 0: it is not known */
};

#endif
