#include "sip/mono_timer.h"

#include <errno.h>
#include <re.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "sip/error.h"

/* Timers that are started for "at once" by those that run are run in the same
 * turn of the loop, for this long; then sockets are looked at again. */
#define TURN_NS NS_PER_MS

/* Timers are looked at once a millisecond at most, as delays are in whole ones:
 * many calls have many timers, each of which would wake the loop. */
#define GRID_NS NS_PER_MS

/* One a process, like the loop of libre that it belongs to. */
static struct {
	struct timer_queue queue;
	int fd;
	bool open;
	bool running;     /* handlers are being called */
	int64_t armed_ns; /* the timerfd is due; INT64_MAX: it is not */
} timers;

static int64_t grid_up(int64_t due_ns)
{
	return due_ns > INT64_MAX - GRID_NS
		       ? due_ns
		       : (due_ns + GRID_NS - 1) / GRID_NS * GRID_NS;
}

/* The timerfd is moved to an earlier time only: that of a timer which was
 * cancelled meanwhile costs one turn for nothing. */
static void arm(int64_t due_ns)
{
	struct itimerspec at = {
		.it_value = {.tv_sec = due_ns / NS_PER_S,
			     .tv_nsec = due_ns % NS_PER_S},
	};

	timers.armed_ns = due_ns;
	(void)timerfd_settime(timers.fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void timers_run(int flags, void *arg)
{
	int64_t begin_ns = clock_mono_ns();
	int64_t now_ns = begin_ns;
	int64_t next_ns;
	uint64_t expirations;

	(void)flags;
	(void)arg;
	timers.armed_ns = INT64_MAX;
	timers.running = true;
	do {
		while (timer_queue_run_one(&timers.queue, now_ns))
			;
		now_ns = clock_mono_ns();
	} while (now_ns - begin_ns < TURN_NS &&
		 timer_queue_next_ns(&timers.queue) <= now_ns);
	timers.running = false;
	next_ns = timer_queue_next_ns(&timers.queue);
	/* Either of them ends that the descriptor is readable. */
	if (next_ns < INT64_MAX)
		arm(next_ns <= now_ns ? next_ns : grid_up(next_ns));
	else if (read(timers.fd, &expirations, sizeof(expirations)) < 0)
		timers.armed_ns = INT64_MAX;
}

void mono_timer_start(struct mono_timer *t, uint64_t delay_ms,
		      void (*handler)(void *arg), void *arg)
{
	int64_t now_ns = clock_mono_ns();
	uint64_t room_ms = (uint64_t)(INT64_MAX - now_ns) / NS_PER_MS;
	int64_t due_ns = delay_ms < room_ms
				 ? now_ns + (int64_t)delay_ms * NS_PER_MS
				 : INT64_MAX;

	timer_queue_start(&timers.queue, &t->entry, due_ns, handler, arg);
	if (delay_ms > 0)
		due_ns = grid_up(due_ns);
	if (timers.open && !timers.running && due_ns < timers.armed_ns)
		arm(due_ns);
}

void mono_timer_cancel(struct mono_timer *t)
{
	timer_queue_cancel(&t->entry);
}

bool mono_timer_running(const struct mono_timer *t)
{
	return timer_queue_runs(&t->entry);
}

int mono_timers_open(void)
{
	int64_t next_ns;
	int err;

	timers.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timers.fd < 0)
		return -errno;
	timers.armed_ns = INT64_MAX;
	err = neg(fd_listen(timers.fd, FD_READ, timers_run, NULL));
	if (err) {
		close(timers.fd);
		return err;
	}
	timers.open = true;
	next_ns = timer_queue_next_ns(&timers.queue);
	if (next_ns < INT64_MAX)
		arm(next_ns);
	return 0;
}

void mono_timers_close(void)
{
	if (!timers.open)
		return;
	timers.open = false;
	fd_close(timers.fd);
	close(timers.fd);
}
