/**
 * The file of `--state`: what a search has found so far, so that one which was interrupted goes on
 * from there. It is JSON, and replaced as a whole after each step. Thread: main.
 *
 *   version  1
 *   search   what is searched: it must be the same when the search goes on
 *   trials   [{load, outcome, condition, sentence, session_id, report_url}], in their order
 *   running  the run in progress: {load, session_id, report_url}; null: none
 *   seconds  that the search took
 *   key      32 hex digits, different in each search. Key and number of starts together are the
 *            Idempotency-Key of the next start. If the command is killed before it gets the
 *            answer, it repeats the start with the same key, and the controller answers with the
 *            same run
 *   starts   how many starts of runs were answered
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_STATE_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_STATE_H

#include <jansson.h>

/* Ceiling of an Idempotency-Key, with its terminator. */
#define CAPACITY_KEY_BYTES 65

/**
 * Read the state of a search.
 * @param search  what is searched now, borrowed
 * @param ret     new reference; a new state if there is no file
 * @return 0; CLI_EXIT_USAGE: the file cannot be read, or is of another search, and the user was
 *         told so
 */
int capacity_state_read(const char *file, json_t *search, json_t **ret);

/** Write the Idempotency-Key of the next start. */
void capacity_state_key(const json_t *state,
			char ret[static CAPACITY_KEY_BYTES]);
/** Count a start whose answer was seen. @return 0; -ENOMEM */
int capacity_state_started(json_t *state);

/** Replace the file; a crash leaves the old one or the new one. @return 0; -errno */
int capacity_state_write(const char *file, const json_t *state);

#endif
