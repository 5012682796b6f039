#include "simulated.h"

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
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
	size_t next; /* step */
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
	if (sim.next < p->count && p->steps[sim.next].at_ms <= wake_ms) {
		step_run();
	} else if (wake_ms >= p->until_ms) {
		sim.now_ms = p->until_ms;
		sip_loop_stop();
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
