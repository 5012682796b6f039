/* Measures how late a thread wakes that only sleeps until the next instant: the
 * lateness that the machine causes in any sender, to compare with the engine's.
 * Usage: bench-timer [SECONDS [STEP_US [PRIORITY]]]; PRIORITY above 0: SCHED_FIFO */
#include "base/clock.h"
#include "base/str.h"
#include "media/lateness.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static void run(struct lateness *l, int64_t until_ns, int64_t step_ns)
{
	int64_t due_ns = clock_mono_ns();

	while (due_ns < until_ns) {
		struct timespec at;
		int64_t now_ns;

		due_ns += step_ns;
		at.tv_sec = due_ns / NS_PER_S;
		at.tv_nsec = due_ns % NS_PER_S;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now_ns = clock_mono_ns();
		lateness_add(l, now_ns - due_ns);
		/* instants missed while asleep count with their own lateness */
		while (due_ns + step_ns < now_ns) {
			due_ns += step_ns;
			lateness_add(l, now_ns - due_ns);
		}
	}
}

int main(int argc, char **argv)
{
	static struct lateness l;
	struct distribution d;
	uint64_t seconds = 10;
	uint64_t step_us = 250;
	uint64_t priority = 0;
	double p99_ms;

	if (argc > 4 || (argc > 1 && str_to_u64(argv[1], 3600, &seconds)) ||
	    (argc > 2 && str_to_u64(argv[2], 1000000, &step_us)) ||
	    (argc > 3 && str_to_u64(argv[3], 99, &priority)) || step_us == 0) {
		fprintf(stderr,
			"usage: bench-timer [SECONDS [STEP_US [PRIORITY]]]\n");
		return 2;
	}
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (priority > 0) {
		struct sched_param p = {.sched_priority = (int)priority};

		if (sched_setscheduler(0, SCHED_FIFO, &p)) {
			fprintf(stderr, "bench-timer: priority %d: %s\n",
				p.sched_priority, strerror(errno));
			return 1;
		}
	}
	run(&l, clock_mono_ns() + (int64_t)seconds * NS_PER_S,
	    (int64_t)step_us * NS_PER_US);
	lateness_read(&l, &d, &p99_ms);
	printf("p50 %.3f p95 %.3f p99 %.3f max %.3f ms\n", d.median, d.p95,
	       p99_ms, d.max);
	return 0;
}
