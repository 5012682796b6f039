/**
 * Whether the running agent is in touch with its controller, for the health check of a
 * container: it notes each answered poll in state_dir/last-poll, and another process
 * reads it (offhook-agent --check-health).
 * Thread: any.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_HEALTH_H
#define OFFHOOK_AGENT_SUPERVISOR_HEALTH_H

#include <stddef.h>

/* A healthy agent has had an answer within this time: twice the longest poll (50 s),
 * and time for a restart of the controller. */
#define HEALTH_SILENT_S 120

/** At the start and the end: no poll was answered. */
void health_forget(const char *state_dir);

/** The controller has answered a poll. A failure is logged. */
void health_note(const char *state_dir);

/**
 * Is the agent with this state_dir in touch with its controller?
 * @param text  out: one line that says it
 * @param size  of text, at least 1
 * @return 0; -ENOENT no poll was answered since its start; -ETIMEDOUT not within
 *         HEALTH_SILENT_S; -errno
 */
int health_check(const char *state_dir, char *text, size_t size);

#endif
