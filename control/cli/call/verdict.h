/**
 * The verdict on a command line.
 * Passed: every call was established, had audio in both directions, and ended
 * as asked for (table of ends in docs/reference/conditions.md), or the
 * registration succeeded; no assertion failed; the job was completed. If audio
 * was decoded, the peer was not silent. If a prompt is expected, it was heard.
 * Errored, neither passed nor failed, as a run of a controller: the job could
 * not be carried out, or our own measurement has a flaw.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_VERDICT_H
#define OFFHOOK_CONTROL_CLI_CALL_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define VERDICT_REASON_BYTES 512
#define VERDICT_DIGITS_MAX   10000

struct verdict {
	json_t *calls;    /* `call` events */
	json_t *asserts;  /* `assert` events */
	json_t *digits;   /* `dtmf` events, the first VERDICT_DIGITS_MAX */
	json_t *evidence; /* or NULL */
	json_t *flaws;
	json_t *registers;  /* `register` events */
	json_t *recordings; /* paths */
	bool registers_only;
	bool expects_prompt; /* set by the owner: --expect-prompt */
	bool finished;
	bool failed;
	bool errored;
	char reason[VERDICT_REASON_BYTES]; /* the first cause of a failure */
};

/** Initialise. @param registers  true: there are no calls, the registration is
 * judged */
void verdict_init(struct verdict *v, bool registers);
void verdict_release(struct verdict *v);
/** Take an event of the engine into account; borrowed. */
void verdict_event(struct verdict *v, json_t *event);
/** Add a complete recording. @param path  copied */
void verdict_recording(struct verdict *v, const char *path);
/** Take the outcome of the engine's `finish` message into account; borrowed. */
void verdict_finish(struct verdict *v, json_t *message);
/** Record a failure of our own. It takes precedence over failures of the peer;
 * of several the first is kept. */
void verdict_error(struct verdict *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

bool verdict_passed(const struct verdict *v);
/** True if the fault was ours. */
bool verdict_errored(const struct verdict *v);
/** The reason as one sentence, also if passed; lives as long as v. */
const char *verdict_reason(struct verdict *v);
void verdict_print_json(struct verdict *v, FILE *out);

#endif
