/**
 * Ends runs whose calls are enough: conditions with the option stop_early are looked at while the run is
 * in progress. What a look decides, the judge decides again at the end.
 * Thread: the run thread.
 */
#ifndef OFFHOOK_SERVER_RUN_EARLY_STOP_H
#define OFFHOOK_SERVER_RUN_EARLY_STOP_H

#include <stdint.h>

struct store;

/* A look reads all calls of the runs: it has one part in so many of the thread's time. */
#define EARLY_STOP_SHARE 20

struct early_stop {
	int64_t next_ns; /* monotonic: not before */
};

/**
 * Look at the runs, if it is time.
 * @return 1 a run ends now; 0; -EIO; -ENOMEM
 */
int early_stop_look(struct early_stop *e, struct store *store);

#endif
