/**
 * What a queued run waits for.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_WAITING_H
#define OFFHOOK_SERVER_STORE_STORE_WAITING_H

#include <stdint.h>

struct store;

#define WAITING_TEXT_BYTES 512

/* Free agents ask for jobs all the time: a run that none of them has asked
 * for after this time waits for an agent that is gone. */
#define WAITING_POLL_MS 2000

/** Instants and times in ms; now since 1970. */
struct waiting_times {
	int64_t now;
	int64_t lease_ms; /* an agent is online for so long after a request */
};

/**
 * Say why a run is queued: no agent online in its pool, agents that are too
 * few, busy, silent or lack a capability (store_lease_fit.h). The rules are
 * those of store_lease_poll.c: runs in the order of their ids, all roles of a
 * run together.
 * @param text  a sentence; written only if the result is 1
 * @return 1; 0 the run has its agents, the next poll places it, it is over, or
 *         there is none; -EIO
 */
int store_waiting_for(struct store *s, int64_t run_id,
		      const struct waiting_times *times,
		      char text[static WAITING_TEXT_BYTES]);

#endif
