/**
 * Whether what the command line asked for went well: every call was
 * established, ended by what was asked for (docs/reference/conditions.md has the table
 * of ends) and audio flowed both ways, or the registration succeeded; no
 * assertion failed, the job was completed. Where audio was decoded, the peer
 * must have sounded; where a prompt is expected, it must have been that.
 * As with a run of a controller, it is neither passed nor failed but errored
 * where we could not carry it out, or our own measurement has a flaw.
 */
#ifndef OFFHOOK_CONTROL_CLI_VERDICT_H
#define OFFHOOK_CONTROL_CLI_VERDICT_H

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
	bool expects_prompt; /* set by the owner */
	bool finished;
	bool failed;
	bool errored;
	char reason[VERDICT_REASON_BYTES]; /* the first cause of a failure */
};

/** @param registers  there are no calls: a registration is what counts */
void verdict_init(struct verdict *v, bool registers);
void verdict_release(struct verdict *v);
void verdict_event(struct verdict *v, json_t *event);
/** A recording is complete. */
void verdict_recording(struct verdict *v, const char *path);
/** The `finish` message. */
void verdict_finish(struct verdict *v, json_t *message);
/** A failure of our own; it goes before what the peer did. Of several the
 * first cause is kept. */
void verdict_error(struct verdict *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

bool verdict_passed(const struct verdict *v);
/** @return whether the fault was ours */
bool verdict_errored(const struct verdict *v);
/** One sentence, also when passed. */
const char *verdict_reason(struct verdict *v);
void verdict_print_json(struct verdict *v, FILE *out);

#endif
