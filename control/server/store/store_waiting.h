/**
 * The reason why a run is queued.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_WAITING_H
#define OFFHOOK_SERVER_STORE_STORE_WAITING_H

#include <stdint.h>

struct store;

#define WAITING_TEXT_BYTES 512

/* Free agents poll all the time. If none has polled for this long, the run
 * waits for agents that are gone. */
#define WAITING_POLL_MS 2000

/** Times in ms; `now` since 1970. */
struct waiting_times {
	int64_t now;
	int64_t lease_ms; /* time an agent is online after a request */
};

/**
 * Write why a run is queued: no agent of its pool is online, or the agents are
 * too few, busy, silent or lack a capability (store_lease_fit.h). The rules are
 * those of store_lease_poll.c: runs in the order of their ids, all roles of a
 * run together.
 * @param text  one sentence; written only if the result is 1
 * @return 1; 0 the run has its agents, the next poll places it, it is over, or
 *         there is none; -EIO
 */
int store_waiting_for(struct store *s, int64_t run_id,
		      const struct waiting_times *times,
		      char text[static WAITING_TEXT_BYTES]);

#endif
