/**
 * What the engines of one job report, as one engine would have reported it
 * (docs/internals/engine.md, "Several engines for one job").
 * Thread: one at a time; pure.
 */
#ifndef OFFHOOK_AGENT_MERGE_ENGINE_MERGE_H
#define OFFHOOK_AGENT_MERGE_ENGINE_MERGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_merge;

/**
 * A message of the job.
 * @param message  borrowed
 * @param text     the message as an engine sent it, len bytes; NULL: it was made here
 */
typedef void(engine_merge_h)(json_t *message, const char *text, size_t len,
			     void *arg);

struct engine_merge_params {
	uint32_t engines;       /* 2 to WIRE_ENGINES_MAX */
	uint32_t interval_s;    /* of the statistics, > 0 */
	const char *role;       /* borrowed */
	int64_t wall_offset_ns; /* wall clock minus monotonic */
	engine_merge_h *message_h;
	void *arg;
};

/** @return 0; -ENOMEM */
int engine_merge_new(struct engine_merge **ret,
		     const struct engine_merge_params *params);
/** Accepts NULL. @return NULL */
struct engine_merge *engine_merge_free(struct engine_merge *m);

/**
 * Take a message of an engine. message_h is called for what follows: at once, or when
 * the other engines have sent theirs.
 * @param engine   from 0
 * @param message  borrowed, an object
 * @param text     the same as it came, len bytes, borrowed
 */
void engine_merge_message(struct engine_merge *m, uint32_t engine,
			  json_t *message, const char *text, size_t len);

/** The process of an engine has ended. One that did not finish before makes the job an
 * error. @param how  "signal 9 (Killed)" */
void engine_merge_ended(struct engine_merge *m, uint32_t engine,
			const char *how);

/** Whether an engine has ended the job before its end: the others need not go on. */
bool engine_merge_failed(const struct engine_merge *m);

#endif
