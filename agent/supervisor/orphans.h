/**
 * Reap children that are not the supervisor's own. As the first process of a container
 * (pid 1) it becomes the parent of what a killed engine leaves behind, such as baresip:
 * unreaped, each would stay a zombie for the life of the container.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_ORPHANS_H
#define OFFHOOK_AGENT_SUPERVISOR_ORPHANS_H

#include "base/event_loop.h"

#include <sys/types.h>

struct orphans {
	struct event_loop *loop;
	struct event_loop_timer timer;
	pid_t seen; /* had ended at the last look; 0: none had */
};

/** Look for orphans from now on, if this process is pid 1. @param loop  borrowed */
void orphans_begin(struct orphans *o, struct event_loop *loop);

/** Stop it. Accepts a struct of zeros, which was not begun. */
void orphans_end(struct orphans *o);

#endif
