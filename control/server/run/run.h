/**
 * The engine that drives runs through their phases: queued, dispatching,
 * running, stopping, judging, done.
 */
#ifndef OFFHOOK_SERVER_RUN_RUN_H
#define OFFHOOK_SERVER_RUN_RUN_H

#include <stdint.h>

struct controller;
struct store;

/**
 * Start the thread that advances runs and sweeps leases; sets
 * controller->run_engine. The database is open, HTTP not yet started.
 * @return 0; -ENOMEM; -errno
 */
int run_engine_start(struct controller *controller);

/** Stop it; accepts a controller without one. HTTP has stopped. */
void run_engine_stop(struct controller *controller);

/**
 * Ask a run to stop: its leases are cancelled, the judge is not asked, its
 * status becomes `stopped`. A run that is over stays as it is.
 * Thread: worker.
 * @return 0; -ENOENT; -EALREADY it is over or stopping; -EIO
 */
int run_stop(struct controller *controller, struct store *store,
	     int64_t run_id);

#endif
