/**
 * What an API handler gets and gives. A request has been read and parsed
 * completely before its handler runs, on a worker thread: handlers may use
 * the store and must not wait for anything else
 * (docs/reference/controller.md, "A request's life").
 * What the functions return is borrowed and lives as long as the handler runs.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_REQUEST_H

#include "control/server/request/parked.h"
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
struct upload;

/* ---- the request ---- */

struct controller *request_controller(const struct request *req);
const struct controller_conf *request_conf(const struct request *req);
/** The worker's view of the database. */
struct store *request_store(const struct request *req);

const char *request_method(const struct request *req);
/** The path, without root and query. */
const char *request_path(const struct request *req);
/** An element of the path. @param i  of the route's `:name`, from 0
 * @return NULL: the route has no such */
const char *request_param(const struct request *req, size_t i);
/** Parse an element of the path as an id. @return true; false: not an id */
bool param_id(const struct request *req, size_t at, int64_t *ret);
/** Replace an element of the path; NULL: remove it. */
void request_set_param(struct request *req, size_t i, const char *param);
/** The query: an array of [name, value], in the order sent. */
json_t *request_query(const struct request *req);
/** A header field's value. @return NULL: there is none */
const char *request_header(const struct request *req, const char *name);
/** The first cookie of a name. @return NULL: there is none */
const char *request_cookie(const struct request *req, const char *name);

/** The body as an object; of a form each field is a string. @return NULL:
 * there was none */
json_t *request_body(const struct request *req);
/** True for a form: values are strings, not JSON types. */
bool request_body_is_form(const struct request *req);
/** The text of an agent's body. @return at NULL: there is none, or it is no
 * agent's */
struct json_text request_body_text(const struct request *req);
/** The file that was uploaded. @return NULL: there is none */
const struct upload *request_upload(const struct request *req);

/** The client's address, in front of a trusted proxy. */
const char *request_remote_addr(const struct request *req);
/** Our URL as the client sees it. */
const char *request_base_url(const struct request *req);
/** True if the client speaks TLS. */
bool request_secure(const struct request *req);
/** Whether the client may be the agent of this name: it has shown that agent's
 * certificate, or none is asked for. @return false: the reply is a 403 */
bool request_is_certified(struct request *req, struct reply *rep,
			  const char *agent);
/** The id of the agent that sent the request; 0: not an agent. */
int64_t request_agent_id(const struct request *req);
/** The API key that the request has; negative: a user of the pages; 0: neither. */
int64_t request_key_id(const struct request *req);
/** The run or project run, as its UUID, that an earlier request with the same
 * Idempotency-Key started without being answered: reply as it would have been,
 * and start nothing. NULL: none. */
const char *request_started(const struct request *req);
/** True at the last call of a request that was parked: reply now. */
bool request_waited(const struct request *req);
/** True if it was parked, and woken since: nothing but what it waits for may have
 * changed. */
bool request_woken(const struct request *req);

/* ---- the reply ---- */

/** The status of the reply. @return 0: there is none yet */
unsigned reply_status(const struct reply *rep);

/** Reply {"...": value, "status": code}. @param body  taken over; NULL: {} */
void reply_json(struct reply *rep, unsigned status, json_t *body);

/** Reply 200 with JSON that is text already: takes over what the buffer
 * holds. */
void reply_text(struct reply *rep, struct buf *text);

/** Reply 200 with what the buffer holds, which is taken over. */
void reply_document(struct reply *rep, struct buf *text,
		    const char *content_type);

/** Reply 200 with a file. @param fd  taken over */
void reply_fd(struct reply *rep, int fd, uint64_t len,
	      const char *content_type);

/** Reply without a body. What was to be its body is dropped. */
void reply_empty(struct reply *rep, unsigned status);

/** Reply problem+json (docs/reference/api.md). Nothing of it may be secret. */
void reply_problem(struct reply *rep, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Seconds after which what was short may be there again. */
#define REPLY_RETRY_S 5

/** Reply 503 as a problem, with Retry-After. @param retry_s  seconds */
void reply_unavailable(struct reply *rep, unsigned retry_s, const char *fmt,
		       ...) __attribute__((format(printf, 3, 4)));

/* A header's value; a longer one is left out. */
#define REPLY_HEADER_BYTES 8192

/* At most so many errors are listed in one answer. */
#define REPLY_ERRORS_MAX 100

/** Add an {pointer, detail} entry to a problem (made by reply_problem). */
void reply_pointer(struct reply *rep, const char *pointer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Count the entries of reply_pointer(). */
size_t reply_error_count(const struct reply *rep);

/** Add a member to the body. @param value  borrowed */
void reply_member(struct reply *rep, const char *name, json_t *value);

/** Set a response header; CR and LF in the value are refused. */
void reply_header(struct reply *rep, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Answer 503: the database could not read or write. @param err  of the store */
void reply_database_error(struct reply *rep, int err);

/** Answer 503: a file that the client sent could not be stored.
 * @param err  why, -errno */
void reply_file_error(struct reply *rep, int err);

/** Answer an error of the store: 404, 409, 500 or 503.
 * @param what  the record, as a client calls it: "test" */
void reply_store_error(struct reply *rep, int err, const char *what);

/** Do not reply yet: the handler is called again when requests of this kind are
 * woken (controller_wake_parked()) or, with request_waited(), after this time. The
 * first parking of a request sets the time, later ones keep it. */
void reply_park(struct reply *rep, enum parked kind, uint32_t ms);

/** Name the record that a deprecated route is about, for its Link header. */
void reply_successor(struct reply *rep, int64_t id);

#endif
