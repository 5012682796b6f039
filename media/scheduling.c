#include "media/scheduling.h"

#include <sched.h>
#include <sys/resource.h>

#define NICE_FIRST (-10) /* tried first */
#define NICE_LAST  (-1)

const char *media_scheduling_name(enum media_scheduling scheduling)
{
	switch (scheduling) {
	case MEDIA_SCHEDULING_NICE:
		return "nice";
	case MEDIA_SCHEDULING_REALTIME:
		return "realtime";
	case MEDIA_SCHEDULING_OVERRUN:
		return "overrun";
	case MEDIA_SCHEDULING_NORMAL:
		break;
	}
	return "normal";
}

/* relaxed everywhere: the class is only reported and orders nothing */
static void class_set(struct scheduling *s, enum media_scheduling class)
{
	atomic_store_explicit(&s->class, class, memory_order_relaxed);
}

enum media_scheduling scheduling_read(const struct scheduling *s)
{
	return (enum media_scheduling)atomic_load_explicit(
		&s->class, memory_order_relaxed);
}

/* Raise the soft limit to the hard limit. */
static void limit_raise(__rlimit_resource_t resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) == 0 &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		/* if refused, the soft limit stays */
		(void)setrlimit(resource, &limit);
	}
}

void scheduling_take(struct scheduling *s, int priority)
{
	const struct sched_param param = {.sched_priority = priority};

	/* scheduling_watch() must slow a real-time thread that spins;
	 * RLIMIT_RTTIME would kill it, so this limit is not changed */
	limit_raise(RLIMIT_RTPRIO);
	if (priority != SCHEDULING_NICE_ONLY &&
	    sched_setscheduler(0, SCHED_FIFO, &param) == 0) {
		class_set(s, MEDIA_SCHEDULING_REALTIME);
		return;
	}
	limit_raise(RLIMIT_NICE);
	for (int nice = NICE_FIRST; nice <= NICE_LAST; nice++) {
		/* of this thread only: setpriority(2), "C library/kernel
		 * differences" */
		if (setpriority(PRIO_PROCESS, 0, nice) == 0) {
			class_set(s, MEDIA_SCHEDULING_NICE);
			return;
		}
	}
}

void scheduling_watch(struct scheduling *s, bool waited, int64_t now_ns)
{
	const struct sched_param none = {.sched_priority = 0};

	if (waited || scheduling_read(s) != MEDIA_SCHEDULING_REALTIME) {
		s->busy_since_ns = 0;
	} else if (s->busy_since_ns == 0) {
		s->busy_since_ns = now_ns;
	} else if (now_ns - s->busy_since_ns > SCHEDULING_BUSY_MAX_NS) {
		/* leaving real-time priority is never refused */
		(void)sched_setscheduler(0, SCHED_OTHER, &none);
		class_set(s, MEDIA_SCHEDULING_OVERRUN);
	}
}
