/**
 * What an API handler gets and gives. A request has been read and parsed
 * completely before its handler runs, on a worker thread: handlers may use
 * the store and must not wait for anything else (design: the controller).
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H

#include "control/server/request/route.h"
#include "control/wire/json_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct controller;
struct controller_conf;
struct store;

/** The file of a multipart upload, as the client sent it. */
struct upload {
	const char *data;
	size_t len;
	const char *filename;   /* never a path of ours */
	const char *media_type; /* "" : not told */
};

struct request {
	/* constant while the handler runs, all borrowed */
	struct controller *controller;
	const struct controller_conf *conf;
	struct store *store; /* this worker's view of the database */
	const char *method;
	const char *path;                    /* below the root, no query */
	const char *params[PATH_PARAMS_MAX]; /* path elements, in order */
	json_t *query; /* array of [name, value]: repeats keep their order */
	json_t *body;  /* object; form bodies become strings by key; NULL:
			  * there was none */
	struct json_text body_text;  /* of agents: body as it came; or NULL */
	const struct upload *upload; /* uploads only; or NULL */
	bool body_is_form;           /* values are strings, not JSON types */
	const char *request_id;
	const char
		*remote_addr; /* of the client, in front of a trusted proxy */
	const char *base_url; /* as the client sees us */
	bool secure;          /* the client speaks TLS */
	const char *(*header)(const struct request *, const char *name);
	/* the first cookie of that name; NULL: there is none */
	const char *(*cookie)(const struct request *, const char *name);
	enum api_right right; /* what the caller's key may do */
	int64_t key_id;       /* API key; negative: a user of the pages; or 0 */
	int64_t agent_id;     /* agent, or 0 */
	bool waited;          /* long-poll: this is the last call, answer now */
	void *http;           /* the http layer's own */
};

struct reply {
	unsigned status;
	json_t *body; /* owned; sent as JSON; NULL: empty body */
	char *text;   /* instead of body: owned, with content_type */
	size_t text_len;
	bool has_file; /* instead of body and text: this file */
	int file_fd;   /* owned */
	uint64_t file_len;
	const char *content_type; /* NULL: application/json */
	json_t *headers;          /* object name -> value, owned; may be NULL */
	uint32_t park_ms;         /* > 0: not answered; call the handler again
				* when woken or after this time (then with
				   * request.waited set). The first parking of
				   * a request sets the time, later ones keep
				   * it */
	int64_t successor_id;     /* of a deprecated route: the record it is
				   * about, for Link; 0: it is not known */
};

/** {"...": value, "status": code}: takes over body (may be NULL: {}). */
void reply_json(struct reply *rep, unsigned status, json_t *body);

/** 200 with JSON that is text already: takes over what the buffer holds. */
void reply_text(struct reply *rep, struct buf *text);

/** problem+json (docs/reference/api.md). Nothing of it may be secret. */
void reply_problem(struct reply *rep, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A header's value; a longer one is left out. */
#define REPLY_HEADER_BYTES 8192

/* At most so many errors are listed in one answer. */
#define REPLY_ERRORS_MAX 100

/** Add an {pointer, detail} entry to a problem (made by reply_problem). */
void reply_pointer(struct reply *rep, const char *pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Set a response header; CR and LF in the value are refused. */
void reply_header(struct reply *rep, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Answer an error of the store: 404, 409, 500 or 503.
 * @param what  the record, as a client calls it: "test" */
void reply_store_error(struct reply *rep, int err, const char *what);

#endif
