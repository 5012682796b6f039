/* Preloaded into a program under test: adds to the wall clock the number of seconds that
 * the file of $CLOCK_STEP holds. The monotonic clock stays, as with a clock that is set. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *step;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED
			   : mmap(NULL, sizeof(*step), PROT_READ, MAP_SHARED,
				  fd, 0);

	if (map == MAP_FAILED)
		abort();
	close(fd);
	step = map;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int err;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(
			RTLD_NEXT, "clock_gettime");
	err = real(clock, ret);
	if (!err && step &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += *step;
	return err;
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
