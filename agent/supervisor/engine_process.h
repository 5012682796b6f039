/**
 * An engine process as the supervisor sees it: started with --engine=FD; exchanges
 * messages with it (docs/internals/wire.md, "Supervisor and engine") until it ends.
 * One process a job: a crash ends that job and nothing else.
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_ENGINE_PROCESS_H
#define OFFHOOK_AGENT_SUPERVISOR_ENGINE_PROCESS_H

#include "base/event_loop.h"

#include <jansson.h>

#define PROCESS_REASON_BYTES 160

struct engine_process;

/** Called with the messages of the process, and at its end. */
struct engine_process_handlers {
	/** A message of the engine. @param message  borrowed, an object */
	void (*message_h)(json_t *message, void *arg);
	/**
	 * The process has ended, and all its messages were handed out. The
	 * owner may free it here.
	 * @param how  "exited with status 3", "signal 11 (Segmentation fault)"
	 */
	void (*end_h)(const char *how, void *arg);
	void *arg;
};

/**
 * Start a process.
 * @param program   started with --engine=FD
 * @param handlers  copied
 * @return 0; -ENOMEM; -errno the program cannot be started
 */
int engine_process_start(struct engine_process **ret, struct event_loop *loop,
			 const char *program,
			 const struct engine_process_handlers *handlers);

/** Replace the handlers. @param handlers  copied */
void engine_process_hand_over(struct engine_process *p,
			      const struct engine_process_handlers *handlers);

/** Send a message to the engine. @param message  borrowed
 * @return as wire_channel_send() */
int engine_process_send(struct engine_process *p, json_t *message);

/** Within message_h: the text of the message, as wire_channel_text(). */
const char *process_text(const struct engine_process *p, size_t *ret_len);

/** Send SIGKILL; end_h follows. */
void engine_process_kill(struct engine_process *p);

/** Send SIGKILL if it has not ended after delay_ms; of several calls the
 * earliest time counts. */
void engine_process_kill_after(struct engine_process *p, int64_t delay_ms);

/** Kill it if it runs, wait for its end, and free it. @return NULL */
struct engine_process *engine_process_free(struct engine_process *p);

#endif
