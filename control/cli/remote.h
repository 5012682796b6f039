/**
 * The REST API of a controller (docs/reference/api.md), for commands.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_REMOTE_H
#define OFFHOOK_CONTROL_CLI_REMOTE_H

#include <jansson.h>
#include <stdio.h>

#define REMOTE_REASON_BYTES 512
#define REMOTE_ETAG_BYTES   64

struct remote;

struct remote_answer {
	long status;
	json_t *body; /* owned; NULL: there is none */
	char etag[REMOTE_ETAG_BYTES];
};

/**
 * @param url      of the controller: "https://offhook.example.net"
 * @param key      "PUBLIC:SECRET"; copied
 * @param ca_file  PEM file of authorities; NULL: the system's
 * @param reason   filled on failure
 * @return 0; -EINVAL; -ENOMEM
 */
int remote_new(struct remote **ret, const char *url, const char *key,
	       const char *ca_file, char reason[static REMOTE_REASON_BYTES]);
/** Wipes the key. Accepts NULL. @return NULL */
struct remote *remote_free(struct remote *r);

/**
 * Send a request below /api/v2 and wait for its answer, half a minute at most.
 * @param fields    object of texts, sent as a form; NULL: no body
 * @param if_match  NULL: none
 * @param reason    filled on failure, with what the controller said
 * @return 0: the status is 2xx; -EINVAL it is another one; -EIO there is no
 *         answer, or it is not understood; -ENOMEM
 */
int remote_call(struct remote *r, const char *method, const char *path,
		json_t *fields, const char *if_match, struct remote_answer *ret,
		char reason[static REMOTE_REASON_BYTES]);

/**
 * Get a file below /api/v2, ten minutes at most.
 * @param file  what came is written to it, as far as it came
 * @return 0; -EINVAL; -EIO, also where it could not be written
 */
int remote_save(struct remote *r, const char *path, FILE *file,
		char reason[static REMOTE_REASON_BYTES]);

void remote_answer_release(struct remote_answer *a);

#endif
