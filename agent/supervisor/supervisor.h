/**
 * The agent's supervisor: enrols, polls for jobs, holds the leases, drains and
 * stops (docs/internals/wire.md). It touches no SIP: jobs are carried out by
 * engine processes.
 *   SIGUSR1           no new jobs; exit when the running ones are over
 *   SIGTERM, SIGINT   the same with a bound; a second one cancels them, a
 *                     third one exits at once
 * Thread: the main thread; the signals are blocked from supervisor_new() on.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_H
#define OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_H

#include "conf/agent_conf.h"

#include <jansson.h>

struct supervisor;

/**
 * @param conf            borrowed
 * @param join_token      NULL: none; borrowed
 * @param engine_program  borrowed
 * @param features        what this agent is able to do, told to the controller:
 *                        array of texts, a reference is kept
 * @return 0; -EBUSY another agent has the state directory; -errno (the reason
 *         is logged)
 */
int supervisor_new(struct supervisor **ret, const struct agent_conf *conf,
		   const char *join_token, const char *engine_program,
		   json_t *features);

/**
 * Serve until a signal ends it.
 * @return 0; -EACCES the controller does not want this agent (logged); -errno
 */
int supervisor_run(struct supervisor *s);

/** Kill what still runs and release; spools stay. @return NULL */
struct supervisor *supervisor_free(struct supervisor *s);

#endif
