#include "agent/calibrate/clock_check.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define READINGS 1000

static int64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Read both clocks at one time: of some tries the one that took the shortest, as we may be
 * interrupted between the readings. */
static void both_read(int64_t *ret_mono_ns, int64_t *ret_raw_ns)
{
	int64_t shortest_ns = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t before_ns = clock_mono_ns();
		int64_t raw = raw_ns();
		int64_t took_ns = clock_mono_ns() - before_ns;

		if (took_ns < shortest_ns) {
			shortest_ns = took_ns;
			*ret_mono_ns = before_ns + took_ns / 2;
			*ret_raw_ns = raw;
		}
	}
}

static int64_t resolution_ns(void)
{
	int64_t smallest_ns = NS_PER_S, before_ns = clock_wall_ns();

	for (int i = 0; i < READINGS; i++) {
		int64_t now_ns = clock_wall_ns();

		if (now_ns > before_ns && now_ns - before_ns < smallest_ns)
			smallest_ns = now_ns - before_ns;
		before_ns = now_ns;
	}
	return smallest_ns;
}

void clock_check_start(struct clock_check *c)
{
	*c = (struct clock_check){.offset_ns = clock_wall_offset_ns()};
	both_read(&c->start_ns, &c->start_raw_ns);
}

void clock_check_watch(struct clock_check *c)
{
	int64_t offset_ns = clock_wall_offset_ns();
	int64_t step_ns = llabs(offset_ns - c->offset_ns);

	if (step_ns > c->step_ns)
		c->step_ns = step_ns;
	c->offset_ns = offset_ns;
}

void clock_check_end(struct clock_check *c, struct clock_figures *ret)
{
	int64_t mono_ns = 0, raw = 0;
	double elapsed_ns;

	clock_check_watch(c);
	both_read(&mono_ns, &raw);
	elapsed_ns = (double)(raw - c->start_raw_ns);
	*ret = (struct clock_figures){
		.resolution_ns = (double)resolution_ns(),
		.step_ms = (double)c->step_ns / (double)NS_PER_MS,
	};
	if (elapsed_ns > 0)
		ret->drift_ppm =
			1e6 * ((double)(mono_ns - c->start_ns) - elapsed_ns) /
			elapsed_ns;
	if (ret->drift_ppm < 0)
		ret->drift_ppm = -ret->drift_ppm;
}
