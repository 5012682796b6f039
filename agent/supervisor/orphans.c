#include "agent/supervisor/orphans.h"

#include "base/log.h"

#include <sys/wait.h>
#include <unistd.h>

/* Between two looks. An engine that ends is reaped in the same turn of the loop, so a
 * child that has ended and is still there at the next look has nobody to reap it. */
#define LOOK_MS 2000

static void on_look(void *arg)
{
	struct orphans *o = arg;
	siginfo_t info = {.si_pid = 0};

	event_loop_arm(o->loop, &o->timer, LOOK_MS);
	/* WNOWAIT: it stays for the one that waits for it */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT))
		info.si_pid = 0;
	if (info.si_pid == 0 || info.si_pid != o->seen) {
		o->seen = info.si_pid;
		return;
	}
	if (waitpid(o->seen, NULL, WNOHANG) == o->seen)
		log_info("process %d, left behind by an engine, has ended",
			 (int)o->seen);
	o->seen = 0;
}

void orphans_begin(struct orphans *o, struct event_loop *loop)
{
	if (getpid() != 1)
		return;
	o->loop = loop;
	o->timer.due_h = on_look;
	o->timer.arg = o;
	event_loop_arm(loop, &o->timer, LOOK_MS);
}

void orphans_end(struct orphans *o)
{
	if (o->loop)
		event_loop_disarm(o->loop, &o->timer);
}
