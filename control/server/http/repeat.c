#include "control/server/http/repeat.h"

#include "base/log.h"
#include "control/server/request/request_data.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_idempotency.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *header_value(const struct route *route,
				const struct request *req)
{
	if (route->right != RIGHT_RUN || strcmp(req->method, "POST") != 0)
		return NULL;
	return req->header(req, "Idempotency-Key");
}

static bool name_valid(const char *name)
{
	size_t i;

	for (i = 0; name[i] > ' ' && name[i] < 0x7f; i++) {
		if (i + 1 >= REPEAT_NAME_BYTES)
			return false;
	}
	return i > 0 && name[i] == '\0';
}

/* Hash a request. JSON bodies that differ only in member order or white space
 * have the same hash. */
static int hash_request(const struct request *req,
			uint8_t hash[IDEMPOTENCY_HASH_BYTES])
{
	json_t *whole = json_pack("[s, s, O?, O?]", req->method, req->path,
				  req->query, req->body);
	char *text = json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(whole);
	if (!text)
		return -ENOMEM;
	/* keyed hash: a scenario's body may hold a password */
	secret_hash(store_secrets(req->store), text, hash);
	secret_wipe_free(text, strlen(text));
	return 0;
}

static void reply_refused(struct reply *rep, int err)
{
	switch (err) {
	case -EBUSY:
		reply_problem(rep, 409,
			      "the request that has this Idempotency-Key is "
			      "not answered yet");
		reply_header(rep, "Retry-After", "1");
		break;
	case -EEXIST:
		reply_problem(rep, 422,
			      "the Idempotency-Key was used for another "
			      "request");
		reply_pointer(rep, "Idempotency-Key",
			      "was used for another request");
		break;
	default:
		reply_database_error(rep, err);
		break;
	}
}

/* Changes that a client asks for are noted. What agents report is not: their
 * runs are stored. */
static void call_handler(const struct route *route, struct request *req,
			 struct reply *rep)
{
	struct audit audit = {
		.method = req->method,
		.path = req->path,
		.address = req->remote_addr,
		.request_id = req->request_id,
		.key_id = req->key_id,
	};

	if (strcmp(req->method, "GET") != 0 &&
	    strcmp(req->method, "HEAD") != 0 && route->right != RIGHT_AGENT)
		store_audit_of(req->store, &audit);
	route->handler(req, rep);
	store_audit_of(req->store, NULL);
}

/* The Idempotency-Key is kept if the request was carried out. A refused request
 * changed nothing: it may be corrected and sent with the same key. One that failed
 * after it had started a run keeps its key, too. */
static void serve_claimed(const struct route *route, struct request *req,
			  struct reply *rep, const struct idempotency *i)
{
	int err;

	call_handler(route, req, rep);
	if (rep->status >= 200 && rep->status < 300 && rep->body)
		err = store_idempotency_finish(req->store, i, rep->status,
					       rep->body);
	else
		err = store_idempotency_drop(req->store, i);
	if (err)
		log_error("the answer for an Idempotency-Key was not kept: %s",
			  strerror(-err));
}

void repeat_serve(const struct route *route, struct request *req,
		  struct reply *rep)
{
	struct idempotency i = {
		.key_id = req->key_id,
		.name = header_value(route, req),
	};
	json_t *response = NULL;
	unsigned status = 0;
	int err;

	if (!i.name) {
		call_handler(route, req, rep);
		return;
	}
	if (!name_valid(i.name)) {
		reply_problem(rep, 422,
			      "the Idempotency-Key must be 1 to %d visible "
			      "ASCII characters",
			      REPEAT_NAME_BYTES - 1);
		reply_pointer(rep, "Idempotency-Key", "is not valid");
		return;
	}
	err = hash_request(req, i.hash);
	if (err == 0)
		err = store_idempotency_claim(req->store, &i, store_now_ms(),
					      &status, &response);
	if (err < 0) {
		reply_refused(rep, err);
	} else if (err == 2) {
		req->started = i.started;
		call_handler(route, req, rep);
		req->started = NULL;
		if (rep->status == 200 || rep->status == 201)
			reply_header(rep, "Idempotency-Replayed", "true");
	} else if (err == 1) {
		reply_json(rep, status, response);
		reply_header(rep, "Idempotency-Replayed", "true");
	} else {
		serve_claimed(route, req, rep, &i);
	}
}
