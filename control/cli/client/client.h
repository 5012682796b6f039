/**
 * What every command that uses a controller shares: the options --url,
 * --key-file, --ca-file, --fingerprint, --profile and --json at any place of the command line,
 * the environment, the profile, the connection, and complaints that say the
 * remedy. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_CLIENT_H
#define OFFHOOK_CONTROL_CLI_CLIENT_CLIENT_H

#include "control/cli/client/remote.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define CLIENT_ID_BYTES 40

struct client;
struct record_kind;

/**
 * Take the shared options out of a command line.
 * @param argc, argv  in/out: without them; argv[0] stays. After "--" nothing is
 *                    taken. Borrowed until client_free().
 * @return 0; CLI_EXIT_USAGE, the complaint was printed
 */
int client_new(struct client **ret, int *argc, char **argv);
struct client *client_free(struct client *c);

/** True with --json. */
bool client_json(const struct client *c);

/** URL of --url; NULL: not given. The same for the others. */
const char *client_given_url(const struct client *c);
const char *client_given_key_file(const struct client *c);
const char *client_given_ca_file(const struct client *c);
const char *client_given_fingerprint(const struct client *c);
const char *client_given_profile(const struct client *c);

/** Whether the environment allows http:// to another host (OFFHOOK_PLAIN_HTTP). */
bool client_plain_http(void);

/**
 * Read the first line of a key file, PUBLIC:SECRET.
 * @param size  of key; a longer line is cut
 * @return 0; CLI_EXIT_USAGE, the complaint was printed
 */
int client_read_key_file(const char *path, char *key, size_t size);

/** Find URL and key and make the connection; no request is sent. Repeated calls
 * do nothing. @return 0; exit status, the complaint was printed */
int client_connect(struct client *c);

/** Connect to a controller whatever options, environment and profiles say.
 * @param url  borrowed until client_free() @return as client_connect() */
int client_connect_to(struct client *c, const char *url, const char *key);

/** The connection. @return NULL before client_connect() succeeded */
struct remote *client_remote(struct client *c);

/**
 * Send a request, connecting first.
 * @param body  sent as JSON; NULL: none
 * @param ret   owned by the caller: remote_answer_release()
 * @return 0; exit status CLI_EXIT_ERRORED or CLI_EXIT_USAGE, the complaint was
 *         printed
 */
int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, const char *if_match,
		struct remote_answer *ret);

/** The same with FIELD=VALUE texts as a form; the controller converts them. */
int client_call_form(struct client *c, const char *method, const char *path,
		     json_t *fields, const char *if_match,
		     struct remote_answer *ret);

/** Download to a file, at most 10 min. A file that exists is not replaced, and
 * what failed is removed. @return as client_call() */
int client_save(struct client *c, const char *path, const char *file);

/** The same to a file that may exist: it is replaced at the end, as a whole, and
 * stays as it was after a failure. */
int client_replace(struct client *c, const char *path, const char *file);

/** Try whether client_replace() could write this file; nothing is left behind.
 * @return 0; -errno */
int client_may_replace(const char *file);

/** Read all rows of a listing, page by page.
 * @param path    with "?" and filters, or without
 * @param plural  member with the rows
 * @param rows    array that receives them */
int client_list(struct client *c, const char *path, const char *plural,
		json_t *rows);

/** The same, and no more than `most` rows. */
int client_list_first(struct client *c, const char *path, const char *plural,
		      size_t most, json_t *rows);

/**
 * Find the id of a record by id or name. Digits are an id.
 * @param kind  with a path, a plural and names
 * @return as client_call(); an ambiguous name says its ids
 */
int client_id(struct client *c, const struct record_kind *kind,
	      const char *name, char id[static CLIENT_ID_BYTES]);

/** Print a refusal of remote_call() as cause and remedy on standard error.
 * @return CLI_EXIT_ERRORED */
int client_refused(struct client *c, const char *reason);

/** Complain about the command line on standard error. @return CLI_EXIT_USAGE */
int client_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Print JSON, indented, and the end of the line. */
void client_print_json(FILE *out, const json_t *value);

#endif
