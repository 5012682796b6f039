/* Preloaded into a program under test: its clocks are ahead of the kernel's by what the file
 * of $CLOCK_STEP says. A wait ends when it is over by these clocks, so that a test reaches a
 * time limit without waiting for it. With ThreadSanitizer waits for a condition variable end by the
 * clocks of the kernel: it takes that function from libc. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS   10000000 /* a wait looks at the file this often */
#define NS_PER_S   INT64_C(1000000000)
#define NS_PER_MS  INT64_C(1000000)
#define TIMERS_MAX 1024

/* Seconds: the file. */
struct ahead {
	int64_t wall;   /* the wall clock alone: somebody set it */
	int64_t passed; /* all clocks */
};

static const volatile struct ahead *ahead;

/* Absolute timers of CLOCK_MONOTONIC by descriptor; due 0: not armed. They are set again when
 * time has passed. */
static struct {
	struct timespec due;
	struct timespec interval;
} timers[TIMERS_MAX];
static int64_t timers_passed;
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED
			   : mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED,
				  fd, 0);

	if (map == MAP_FAILED)
		abort();
	close(fd);
	ahead = map;
}

/* The next definition of the calling function. */
#define REAL(function) \
	((__typeof__(&function))(uintptr_t)dlsym(RTLD_NEXT, #function))

static int64_t passed(void)
{
	return ahead ? ahead->passed : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static __typeof__(&clock_gettime) real;
	int err;

	if (!real)
		real = REAL(clock_gettime);
	err = real(clock, ret);
	if (err || !ahead)
		return err;
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		ret->tv_sec += ahead->wall + ahead->passed;
		break;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		ret->tv_sec += ahead->passed;
		break;
	default: /* processor time */
		break;
	}
	return 0;
}

int gettimeofday(struct timeval *ret, void *zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	ret->tv_sec = now.tv_sec;
	ret->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

/* ---- waits ---- */

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return ns_of(&now);
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

/* How long to wait before the file is read again; 0: the wait is over. */
static int64_t slice(int64_t until_ns, clockid_t clock)
{
	int64_t left = until_ns - now_ns(clock);

	return left < 0 ? 0 : left < SLICE_NS ? left : SLICE_NS;
}

static int64_t until(int timeout_ms)
{
	return timeout_ms < 0
		       ? INT64_MAX
		       : now_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;
}

static void set_timers_again(void);

int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
		const sigset_t *mask)
{
	int64_t until_ns = until(timeout), ns;

	for (;;) {
		int count;

		set_timers_again();
		ns = slice(until_ns, CLOCK_MONOTONIC);
		count = REAL(epoll_pwait)(
			fd, events, max,
			(int)((ns + NS_PER_MS - 1) / NS_PER_MS), mask);
		if (count || !slice(until_ns, CLOCK_MONOTONIC))
			return count;
	}
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	return epoll_pwait(fd, events, max, timeout, NULL);
}

static int poll_until(struct pollfd *fds, nfds_t count, int64_t until_ns,
		      const sigset_t *mask)
{
	for (;;) {
		int64_t ns = slice(until_ns, CLOCK_MONOTONIC);
		struct timespec wait = timespec_of(ns);
		int ready = REAL(ppoll)(fds, count, &wait, mask);

		if (ready || !slice(until_ns, CLOCK_MONOTONIC))
			return ready;
	}
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return poll_until(fds, count, until(timeout), NULL);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	  const sigset_t *mask)
{
	return poll_until(fds, count,
			  timeout ? now_ns(CLOCK_MONOTONIC) + ns_of(timeout)
				  : INT64_MAX,
			  mask);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
		    struct timespec *ret_left)
{
	int64_t until_ns = ns_of(t), ns;

	if (!(flags & TIMER_ABSTIME))
		until_ns += now_ns(clock);
	while ((ns = slice(until_ns, clock)) > 0) {
		struct timespec wait = timespec_of(ns);
		int err = REAL(clock_nanosleep)(clock, 0, &wait, NULL);

		if (!err)
			continue;
		if (ret_left && !(flags & TIMER_ABSTIME))
			*ret_left = timespec_of(until_ns - now_ns(clock));
		return err;
	}
	return 0;
}

int nanosleep(const struct timespec *t, struct timespec *ret_left)
{
	int err = clock_nanosleep(CLOCK_MONOTONIC, 0, t, ret_left);

	errno = err;
	return err ? -1 : 0;
}

/* All conditions and locks with a time limit have the monotonic clock. Wakes without a reason are
 * allowed. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
			   const struct timespec *at)
{
	int64_t ns = slice(ns_of(at), CLOCK_MONOTONIC);
	struct timespec kernel_at;
	int err;

	if (!ns)
		return ETIMEDOUT;
	kernel_at =
		timespec_of(now_ns(CLOCK_MONOTONIC) - passed() * NS_PER_S + ns);
	err = REAL(pthread_cond_timedwait)(cond, lock, &kernel_at);
	return err == ETIMEDOUT && slice(ns_of(at), CLOCK_MONOTONIC) ? 0 : err;
}

int pthread_mutex_clocklock(pthread_mutex_t *lock, clockid_t clock,
			    const struct timespec *at)
{
	for (;;) {
		int64_t ns = slice(ns_of(at), clock);
		struct timespec kernel_at =
			timespec_of(now_ns(clock) - passed() * NS_PER_S + ns);
		int err =
			REAL(pthread_mutex_clocklock)(lock, clock, &kernel_at);

		if (err != ETIMEDOUT || !slice(ns_of(at), clock))
			return err;
	}
}

/* ---- timers ---- */

static int set_timer(int fd, int64_t seconds)
{
	struct itimerspec kernel = {.it_value = timers[fd].due,
				    .it_interval = timers[fd].interval};

	kernel.it_value.tv_sec -= seconds;
	if (kernel.it_value.tv_sec < 0) /* past */
		kernel.it_value = (struct timespec){0, 1};
	return REAL(timerfd_settime)(fd, TFD_TIMER_ABSTIME, &kernel, NULL);
}

static void set_timers_again(void)
{
	int64_t seconds = passed();

	if (__atomic_load_n(&timers_passed, __ATOMIC_RELAXED) == seconds)
		return;
	pthread_mutex_lock(&timers_lock);
	__atomic_store_n(&timers_passed, seconds, __ATOMIC_RELAXED);
	for (int fd = 0; fd < TIMERS_MAX; fd++)
		if (ns_of(&timers[fd].due))
			(void)set_timer(fd, seconds);
	pthread_mutex_unlock(&timers_lock);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at,
		    struct itimerspec *ret_old)
{
	int err;

	if (!(flags & TFD_TIMER_ABSTIME) || fd < 0 || fd >= TIMERS_MAX ||
	    !ns_of(&at->it_value))
		return REAL(timerfd_settime)(fd, flags, at, ret_old);
	pthread_mutex_lock(&timers_lock);
	timers[fd].due = at->it_value;
	timers[fd].interval = at->it_interval;
	err = set_timer(fd, passed());
	pthread_mutex_unlock(&timers_lock);
	return err;
}

int close(int fd)
{
	if (fd >= 0 && fd < TIMERS_MAX && ns_of(&timers[fd].due)) {
		pthread_mutex_lock(&timers_lock);
		timers[fd].due = (struct timespec){0};
		pthread_mutex_unlock(&timers_lock);
	}
	return REAL(close)(fd);
}
