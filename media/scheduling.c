#include "media/scheduling.h"

#include "base/clock.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

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
		s->priority = priority;
		s->quiet_wanted_s = SCHEDULING_QUIET_S;
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

static void leave(struct scheduling *s)
{
	const struct sched_param none = {.sched_priority = 0};

	/* leaving real-time priority is never refused */
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
	class_set(s, MEDIA_SCHEDULING_OVERRUN);
	s->away = true;
	s->busy_since_ns = 0;
	s->window_ns = 0;
	s->quiet_s = 0;
}

static void take_back(struct scheduling *s)
{
	const struct sched_param param = {.sched_priority = s->priority};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return; /* the limit was lowered meanwhile */
	s->away = false;
	s->quiet_wanted_s *= 2;
	if (s->quiet_wanted_s > SCHEDULING_QUIET_MAX_S)
		s->quiet_wanted_s = SCHEDULING_QUIET_MAX_S;
}

bool scheduling_quiet(struct scheduling *s, int64_t now_ns, int64_t cpu_ns)
{
	int64_t passed_ns = now_ns - s->window_ns;

	if (s->window_ns != 0) {
		/* by its processor time: in the normal class it may wait for
		 * a processor with little work */
		if ((cpu_ns - s->window_cpu_ns) * 2 < passed_ns)
			s->quiet_s++;
		else
			s->quiet_s = 0;
	}
	s->window_ns = now_ns;
	s->window_cpu_ns = cpu_ns;
	return s->quiet_s >= s->quiet_wanted_s;
}

static int64_t thread_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void scheduling_watch(struct scheduling *s, bool waited, int64_t now_ns)
{
	if (s->away) {
		if (now_ns - s->window_ns >= NS_PER_S &&
		    scheduling_quiet(s, now_ns, thread_cpu_ns()))
			take_back(s);
	} else if (waited || s->priority == 0) {
		s->busy_since_ns = 0;
	} else if (s->busy_since_ns == 0) {
		s->busy_since_ns = now_ns;
	} else if (now_ns - s->busy_since_ns > SCHEDULING_BUSY_MAX_NS) {
		leave(s);
	}
}
