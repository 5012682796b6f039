/**
 * The agent's supervisor: enrols, polls for jobs, holds the leases, drains and
 * stops (docs/internals/wire.md). SIP and RTP are done by engine processes.
 *   SIGHUP            supervisor_reload_h
 *   SIGUSR1           no new jobs; exit when the running ones are over
 *   SIGTERM, SIGINT   the same, for at most stop_s; a second one cancels the
 *                     jobs, a third one exits at once
 * Thread: the main thread; the signals are blocked from supervisor_new() on.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_H
#define OFFHOOK_AGENT_SUPERVISOR_SUPERVISOR_H

#include "conf/agent_conf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct supervisor;

/**
 * Lock the state directory and make a supervisor.
 * @param conf            borrowed
 * @param join_token      NULL: none; borrowed
 * @param engine_program  borrowed
 * @param features        capabilities to report to the controller: array of
 *                        texts, a reference is kept
 * @param verbose         print on standard output what the engines report
 * @return 0; -EBUSY another agent has the state directory; -errno (the reason
 *         is logged)
 */
int supervisor_new(struct supervisor **ret, const struct agent_conf *conf,
		   const char *join_token, const char *engine_program,
		   json_t *features, bool verbose);

/**
 * Take the jobs of one run and end when they are over and delivered; call this
 * before supervisor_run().
 * @param until_ns  monotonic; end without a job then; INT64_MAX: wait for ever
 */
void supervisor_acquire(struct supervisor *s, int64_t until_ns);

/**
 * What this host measured of itself, for the controller and the engines; call this
 * before supervisor_run().
 * @param calibration  wire_calibration_encode(); a reference is kept; NULL: nothing
 */
void supervisor_calibrated(struct supervisor *s, json_t *calibration);

enum acquired {
	ACQUIRED_NONE,         /* no job came, or none could be started */
	ACQUIRED_COMPLETED,    /* all jobs are completed and delivered */
	ACQUIRED_UNSUCCESSFUL, /* delivered; a job has another outcome */
	ACQUIRED_UNDELIVERED,  /* results did not reach the controller */
};

/** What became of it, after supervisor_run(). */
enum acquired supervisor_acquired(const struct supervisor *s);

/** Read the configuration again, and take what may change while it serves. */
typedef void(supervisor_reload_h)(void *arg);

/** Set the handler of SIGHUP; without one the signal does nothing. Call this before
 * supervisor_run(). */
void supervisor_on_reload(struct supervisor *s, supervisor_reload_h *reload_h,
			  void *arg);

/**
 * Serve until a signal ends it.
 * @return 0; -errno
 */
int supervisor_run(struct supervisor *s);

/** Whether supervisor_run() failed because the controller refuses this agent for good
 * (logged): a new start would not change it. */
bool supervisor_refused(const struct supervisor *s);

/** Kill running engines and free the supervisor; spools stay. @return NULL */
struct supervisor *supervisor_free(struct supervisor *s);

#endif
