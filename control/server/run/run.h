/**
 * The engine that drives runs through their phases: queued, dispatching,
 * running, stopping, judging, done. docs/internals/orchestration.md has the picture.
 */
#ifndef OFFHOOK_SERVER_RUN_RUN_H
#define OFFHOOK_SERVER_RUN_RUN_H

#include "control/server/store/store_lease_run.h"

#include <stdint.h>

struct controller;
struct controller_conf;
struct store;

/**
 * Start the runs that schedules and capacity searches ask for at `now` (ms since 1970).
 * Thread: the engine's.
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
typedef int(run_schedules_h)(struct store *store,
			     const struct controller_conf *conf, int64_t now);

/**
 * Start the thread that advances runs and sweeps leases; sets
 * controller->run_engine. The database is open, HTTP not yet started.
 * @return 0; -ENOMEM; -errno
 */
int run_engine_start(struct controller *controller,
		     run_schedules_h *follow_schedules);

/** Stop the thread, before HTTP stops; requests may still poke. Accepts a
 * controller without an engine. */
void run_engine_stop(struct controller *controller);

/** Release it, stopped, when HTTP has stopped. */
void run_engine_free(struct controller *controller);

/**
 * Rows have changed: let the engine look at once. Thread: any.
 */
void run_engine_look(struct controller *controller);

/** Likewise, and run parked requests again: there is something for them. */
void run_engine_poke(struct controller *controller);

/** Likewise, as an agent has signed off: its polls that wait are answered. */
void run_agent_left(struct controller *controller, int64_t agent_id);

/**
 * Ask a run to stop, whichever attempt is named: the leases of the last one are
 * cancelled, the judge is not asked, its status becomes `stopped`, and none
 * follows. An attempt that is over stays as it is.
 * Thread: worker.
 * @return 0; -ENOENT; -EALREADY it is over or stopping, and none would follow;
 *         -EIO
 */
int run_stop(struct controller *controller, struct store *store,
	     int64_t run_id);

/** The configured times, at `now` (ms since 1970). */
struct lease_times run_lease_times(const struct controller_conf *conf,
				   int64_t now);

/**
 * One pass over the rows: sweep, then judge what is to be judged.
 * Thread: the owner of the store.
 * @return 1 something moved; 0; -EIO; -ENOMEM
 */
int run_advance(struct store *store, const struct sweep_times *times);

#endif
