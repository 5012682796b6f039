/**
 * The REST API of a controller (docs/reference/api.md), for commands.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_REMOTE_H
#define OFFHOOK_CONTROL_CLI_CLIENT_REMOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/key_pin.h"

#define REMOTE_REASON_BYTES 512
#define REMOTE_ETAG_BYTES   64

struct remote;

struct remote_answer {
	long status;
	json_t *body; /* owned; NULL: none */
	char etag[REMOTE_ETAG_BYTES];
};

struct remote_params {
	const char *url;     /* "https://offhook.example.net" */
	const char *key;     /* "PUBLIC:SECRET" */
	const char *ca_file; /* PEM file of authorities; NULL: the system's */
	const char
		*fingerprint; /* the controller's certificate must have it, and
				  * needs an authority only with ca_file; NULL: any */
	bool plain_http; /* send the key over http:// to another host, too */
};

/**
 * Make a client of a controller. No request is sent.
 * @param params  copied
 * @param reason  filled on failure
 * @return 0; -EINVAL; -ENOMEM
 */
int remote_new(struct remote **ret, const struct remote_params *params,
	       char reason[static REMOTE_REASON_BYTES]);

/**
 * Ask a controller for the fingerprint of its certificate, which nobody vouches for.
 * The key is not sent.
 * @param reason  filled on failure
 * @return 0; -EIO no TLS connection; -ENOMEM
 */
int remote_fingerprint(char ret[static KEY_PIN_BYTES], const char *url,
		       char reason[static REMOTE_REASON_BYTES]);

/** True if the last request failed as no authority has signed the certificate. */
bool remote_is_unknown(const struct remote *r);
/** Release; the key is wiped. Accepts NULL. @return NULL */
struct remote *remote_free(struct remote *r);

/**
 * Send a request below /api/v2 and wait for its response, at most 30 s.
 * @param path      below /api/v2; one that begins with /run/ is a page of the
 *                  controller
 * @param fields    object of texts, sent as a form; NULL: no body
 * @param if_match  NULL: none
 * @param reason    filled on failure, with the controller's own text
 * @return 0 the status is 2xx; -EINVAL it is another one; -EIO no response, or
 *         it cannot be parsed; -ENOMEM
 */
int remote_call(struct remote *r, const char *method, const char *path,
		json_t *fields, const char *if_match, struct remote_answer *ret,
		char reason[static REMOTE_REASON_BYTES]);

/**
 * Send a POST that may be repeated: with the same key it is carried out once, and
 * answered as the first time (docs/reference/api.md, Repeated requests).
 * @param key  Idempotency-Key: 1 to 64 visible characters
 * @return as remote_call()
 */
int remote_start(struct remote *r, const char *path, json_t *fields,
		 const char *key, struct remote_answer *ret,
		 char reason[static REMOTE_REASON_BYTES]);

/**
 * Download a file, at most 10 min.
 * @param path    as of remote_call()
 * @param file    receives the body; after a failure it may hold a part
 * @param reason  filled on failure
 * @return 0; -EINVAL the status is not 2xx; -EIO no response, or the file
 *         cannot be written
 */
int remote_save(struct remote *r, const char *path, FILE *file,
		char reason[static REMOTE_REASON_BYTES]);

void remote_answer_release(struct remote_answer *a);

/**
 * The same with a body of JSON.
 * @param body  NULL: none
 */
int remote_call_json(struct remote *r, const char *method, const char *path,
		     const json_t *body, const char *if_match,
		     struct remote_answer *ret,
		     char reason[static REMOTE_REASON_BYTES]);

/** Let requests end with -EINTR, within about a second, when this descriptor is
 * readable. Nothing is read from it. @param fd  -1: none */
void remote_stop_on(struct remote *r, int fd);

/** Status of the last response; 0: there was none. */
long remote_status(const struct remote *r);

/** True if the last request had no response, or one that says to ask again later: 429,
 * 502, 503, 504. */
bool remote_is_passing(const struct remote *r);

/** Seconds of Retry-After of the last response; 0: it had none. */
long remote_retry_after(const struct remote *r);

/** True if at least a part of the last request was sent: the controller may have
 * carried it out, also if no response came. */
bool remote_was_sent(const struct remote *r);

/** Encode a text as one path element or query value. @return -ENOMEM */
int remote_escape(struct remote *r, const char *text, char *dst, size_t size);

#endif
