/**
 * Start a run with one request, however often that must be sent: it carries an
 * Idempotency-Key, and is repeated while its answer is lost. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_POST_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_POST_H

#include "control/cli/client/remote.h"

#include <jansson.h>

/* Of an Idempotency-Key: 32 hex digits, and a terminator. */
#define RUN_POST_KEY_BYTES 33

/** Make an Idempotency-Key that nobody has used. */
void run_post_key(char ret[static RUN_POST_KEY_BYTES]);

struct run_post_params {
	struct remote *remote;
	const char *path; /* of the start: "/tests/1/run" */
	json_t *fields;   /* object of texts */
	const char *key;  /* Idempotency-Key: of a start that may have been sent
			   * before; NULL: a new one */
	unsigned retry_s; /* for how long it is repeated; 0: not at all */
	int signals;      /* of run_signals_open(); a signal ends the
			   * repetitions. -1: signals end the program */
};

/**
 * Send it. It is repeated if the controller may have carried it out and no answer
 * came; standard error says so.
 * @param ret     the answer, owned by the caller
 * @param reason  filled on failure
 * @return 0; -EINVAL it was refused, nothing was started; -ENOTCONN it was not
 *         sent; -EMSGSIZE; -ENOMEM; -EIO, -EINTR whether the run was started is
 *         not known
 */
int run_post(const struct run_post_params *p, struct remote_answer *ret,
	     char reason[static REMOTE_REASON_BYTES]);

#endif
