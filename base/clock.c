#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_wall_offset_ns(void)
{
	int64_t best_ns = INT64_MAX;
	int64_t offset_ns = 0;

	for (int i = 0; i < 3; i++) {
		int64_t before_ns = clock_mono_ns();
		int64_t wall_ns = clock_wall_ns();
		int64_t after_ns = clock_mono_ns();

		if (after_ns - before_ns < best_ns) {
			best_ns = after_ns - before_ns;
			offset_ns = wall_ns - before_ns - best_ns / 2;
		}
	}
	return offset_ns;
}

void clock_format(char text[static CLOCK_TEXT_BYTES], int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, CLOCK_TEXT_BYTES, "%Y-%m-%d %H:%M:%S", &tm);
}
