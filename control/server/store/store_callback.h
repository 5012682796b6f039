/**
 * Callbacks about failed runs, and the attempts to deliver them
 * (docs/reference/callbacks.md). Every change is one transaction with a
 * compare-and-set, so that several senders may run. Times are ms since 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_CALLBACK_H
#define OFFHOOK_SERVER_STORE_STORE_CALLBACK_H

#include "control/server/store/record.h"

#define CALLBACK_TRIES_MAX      5
#define CALLBACK_URL_BYTES      2048
#define CALLBACK_ADDRESS_BYTES  64
#define CALLBACK_ERROR_BYTES    320
#define CALLBACK_RESPONSE_BYTES 1024

/* A run or project run whose callback is due. */
struct callback_due {
	int64_t run_id;         /* 0: it is a project run */
	int64_t project_run_id; /* 0: it is a run */
	char key[48];           /* for store_run_get() or _project_run_get() */
	/* {url, secret, method, content_type, body}; NULL: encrypted with
	 * another key file */
	json_t *how;
};

/** Find the next callback that is due. @return 1; 0 none; -EIO; -ENOMEM */
int store_callback_due(struct store *s, struct callback_due *ret);

struct callback_new {
	const char *url;
	const char *method;
	json_t *request; /* {content_type, body, secret}: kept encrypted */
	int64_t created_at;
};

/**
 * Insert the row of a delivery, and mark the callback as made.
 * @param request  NULL: nothing is sent, the callback is only marked
 * @return 0; -EALREADY another sender made it; -EIO; -ENOMEM
 */
int store_callback_make(struct store *s, const struct callback_due *due,
			const struct callback_new *callback);

/* A delivery attempt that was begun. */
struct callback_claim {
	int64_t id;
	int64_t number; /* of the attempt, from 1 */
	char url[CALLBACK_URL_BYTES];
	char method[8];
	json_t *request; /* decrypted; NULL: another key file */
};

/**
 * Begin the next attempt that is due. No other sender takes it before
 * `claimed_until`.
 * @return 1; 0 nothing is due; -EIO; -ENOMEM
 */
int store_callback_claim(struct store *s, int64_t now, int64_t claimed_until,
			 struct callback_claim *ret);

struct callback_result {
	int64_t ended_at;
	int64_t duration_ms;
	char address[CALLBACK_ADDRESS_BYTES]; /* "" none */
	long http_status;                     /* 0: none */
	char error[CALLBACK_ERROR_BYTES];     /* "": delivered */
	char response[CALLBACK_RESPONSE_BYTES];
	bool final;      /* a further attempt would not help */
	int64_t next_at; /* next attempt, unless this was the last */
};

/** Record the result of an attempt. @return 0; -EIO */
int store_callback_end(struct store *s, const struct callback_claim *claim,
		       const struct callback_result *result);

/** Read the attempts of a callback, in order: new array. @return 0; -EIO;
 * -ENOMEM */
int store_callback_tries(struct store *s, int64_t id, json_t **ret);

/** Find a template {id, method, content_type, body} by its name.
 * @return 0; -ENOENT; -EIO; -ENOMEM */
int store_callback_template(struct store *s, const char *name, json_t **ret);

/** record_children_h of tests: keeps callback_secret encrypted. Without a
 * secret, `has_callback_secret` keeps the stored one. */
struct db;
int store_test_secret(struct store *s, struct db *db, int64_t id,
		      json_t *values);

#endif
