/**
 * An engine process as the supervisor sees it: started with --engine=FD, told
 * messages (docs/internals/wire.md, "Supervisor and engine") and heard until it has
 * ended. One process a job: its death ends that job and nothing else.
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_ENGINE_PROCESS_H
#define OFFHOOK_AGENT_SUPERVISOR_ENGINE_PROCESS_H

#include "base/event_loop.h"

#include <jansson.h>

#define PROCESS_REASON_BYTES 160

struct engine_process;

/** Who is told what the process says, and its end. */
struct engine_process_handlers {
	/** A message of the engine's. @param message  borrowed, an object */
	void (*message_h)(json_t *message, void *arg);
	/**
	 * The process is gone and everything it sent was handed out. The
	 * owner may release it here.
	 * @param how  "exited with status 3", "signal 11 (Segmentation fault)"
	 */
	void (*end_h)(const char *how, void *arg);
	void *arg;
};

/**
 * @param program  started with --engine=FD
 * @return 0; -ENOMEM; -errno the program cannot be started
 */
int engine_process_start(struct engine_process **ret, struct event_loop *loop,
			 const char *program,
			 const struct engine_process_handlers *handlers);

/** Tell others from now on. */
void engine_process_hand_over(struct engine_process *p,
			      const struct engine_process_handlers *handlers);

/** @param message  borrowed @return as wire_channel_send() */
int engine_process_send(struct engine_process *p, json_t *message);

/** The message that message_h is handed, as wire_channel_text(). */
const char *process_text(const struct engine_process *p, size_t *ret_len);

/** SIGKILL; end_h follows. */
void engine_process_kill(struct engine_process *p);

/** SIGKILL it when it has not ended after so long; the shortest counts. */
void engine_process_kill_after(struct engine_process *p, int64_t delay_ms);

/** Kill it if it lives, wait for it, release. @return NULL */
struct engine_process *engine_process_free(struct engine_process *p);

#endif
