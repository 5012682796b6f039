#include "simulated.h"

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sip/ua.h"

#define CLOCKS 16

static struct {
	bool on;
	int64_t now_ms;
	time_t base_s[CLOCKS]; /* of each clock, at 0 ms */
	const struct simulated_params *params;
	size_t next; /* index of the next step */
	int timer_fd;
	int64_t due_ms; /* when the timerfd expires; INT64_MAX: it is not
			 * armed */
} sim;

static void clock_real(clockid_t id, struct timespec *ts)
{
	(void)syscall(SYS_clock_gettime, id, ts);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!sim.on || id < 0 || id >= CLOCKS) {
		clock_real(id, ts);
		return 0;
	}
	ts->tv_sec = sim.base_s[id] + (time_t)(sim.now_ms / 1000);
	ts->tv_nsec = (long)(sim.now_ms % 1000) * 1000000;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts = {0};
	(void)zone;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

/*
 * The loop's timerfd follows the simulated clock: it is not armed in the kernel
 * before it is due.
 */
int timerfd_settime(int fd, int flags, const struct itimerspec *at,
		    struct itimerspec *old)
{
	static const struct itimerspec off;
	int64_t ms;

	if (!sim.on || !(flags & TFD_TIMER_ABSTIME))
		return (int)syscall(SYS_timerfd_settime, fd, flags, at, old);
	ms = (at->it_value.tv_sec - sim.base_s[CLOCK_MONOTONIC]) * 1000 +
	     (at->it_value.tv_nsec + 999999) / 1000000;
	sim.timer_fd = fd;
	sim.due_ms = ms > sim.now_ms ? ms : sim.now_ms;
	return (int)syscall(SYS_timerfd_settime, fd, 0, &off, old);
}

/*
 * Report the timerfd as readable.
 * @return as epoll_wait()
 */
static int timer_fire(int fd, struct epoll_event *events, int max)
{
	static const struct itimerspec now = {.it_value = {.tv_nsec = 1}};

	sim.now_ms = sim.due_ms;
	sim.due_ms = INT64_MAX;
	(void)syscall(SYS_timerfd_settime, sim.timer_fd, 0, &now, NULL);
	return (int)syscall(SYS_epoll_pwait, fd, events, max, 10000, NULL,
			    (size_t)8);
}

static void step_run(void)
{
	const struct simulated_step *step = &sim.params->steps[sim.next++];

	if (step->at_ms > sim.now_ms)
		sim.now_ms = step->at_ms;
	step->do_h(sim.params->arg);
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	const struct simulated_params *p = sim.params;
	int64_t wake_ms;
	long n = syscall(SYS_epoll_pwait, fd, events, max, sim.on ? 0 : timeout,
			 NULL, (size_t)8);

	if (!sim.on || n)
		return (int)n;
	p->idle_h(p->arg);
	wake_ms = timeout < 0 ? INT64_MAX : sim.now_ms + timeout;
	if (sim.due_ms < wake_ms)
		wake_ms = sim.due_ms;
	if (sim.next < p->count && p->steps[sim.next].at_ms <= wake_ms) {
		step_run();
	} else if (wake_ms >= p->until_ms) {
		sim.now_ms = p->until_ms;
		sip_loop_stop();
	} else if (wake_ms == sim.due_ms) {
		return timer_fire(fd, events, max);
	} else {
		sim.now_ms = wake_ms;
	}
	return 0;
}

void simulated_begin(void)
{
	for (clockid_t id = 0; id < CLOCKS; id++) {
		struct timespec ts = {0};

		clock_real(id, &ts);
		sim.base_s[id] = ts.tv_sec;
	}
	sim.now_ms = 0;
	sim.due_ms = INT64_MAX;
	sim.on = true;
}

void simulated_end(void)
{
	sim.on = false;
}

void simulated_run(const struct simulated_params *params)
{
	sim.params = params;
	sim.next = 0;
	assert_int_equal(sip_loop_run(), 0);
	assert_int_equal(sim.next, params->count);
}

int64_t simulated_ms(void)
{
	return sim.now_ms;
}
