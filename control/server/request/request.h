/**
 * What an API handler gets and gives. A request has been read and parsed
 * completely before its handler runs, on a worker thread: handlers may use
 * the store and must not wait for anything else (design: the controller).
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct store;

/** Process-wide context, made by main(); constant while requests run. */
struct controller;

enum api_right {
	RIGHT_NONE, /* no authentication at all */
	RIGHT_READ,
	RIGHT_RUN,
	RIGHT_WRITE,
	RIGHT_ADMIN,
	RIGHT_AGENT, /* an enrolled agent, docs/internals/wire.md */
};

#define PATH_PARAMS_MAX 3

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
	struct store *store; /* this worker's view of the database */
	const char *method;
	const char *path;                    /* below the root, no query */
	const char *params[PATH_PARAMS_MAX]; /* path elements, in order */
	json_t *query; /* array of [name, value]: repeats keep their order */
	json_t *body;  /* object; form bodies become strings by key; NULL:
			  * there was none */
	const struct upload *upload; /* POST /appimages only; or NULL */
	bool body_is_form;           /* values are strings, not JSON types */
	const char *request_id;
	const char
		*remote_addr; /* of the client, in front of a trusted proxy */
	const char *base_url; /* as the client sees us */
	bool secure;          /* the client speaks TLS */
	const char *(*header)(const struct request *, const char *name);
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

/** A handler fills the reply; it never fails otherwise. */
typedef void(api_handler)(struct request *req, struct reply *rep);

struct route {
	const char *method;
	const char *path; /* "/runs/:id/status", below /api/v2 */
	const char *name; /* for GET / */
	enum api_right right;
	api_handler *handler;
	const char *successor; /* deprecated: path of the RESTful form */
};

/** The query parameters that a handler reads; another one is a 422. */
struct route_query {
	api_handler *handler;
	const char *names; /* separated by blanks, `*` behind those that may be
			    * repeated */
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

/* What is wrong beyond these is not told. */
#define REPLY_ERRORS_MAX 100

/** Add an {pointer, detail} entry to a problem (made by reply_problem). */
void reply_pointer(struct reply *rep, const char *pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Set a response header; CR and LF in the value are refused. */
void reply_header(struct reply *rep, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Run every parked request's handler again. Thread: any. */
void http_wake_parked(struct controller *controller);

#endif
