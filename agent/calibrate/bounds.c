#include "agent/calibrate/bounds.h"

#include "media/analysis/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROOM_FIRST 1024

int samples_put(struct samples *s, double value)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : ROOM_FIRST;
		double *values = realloc(s->values, room * sizeof(*values));

		if (!values)
			return -ENOMEM;
		s->values = values;
		s->room = room;
	}
	s->values[s->count++] = value;
	return 0;
}

void samples_ascend(struct samples *s)
{
	samples_sort(s->values, s->count);
}

double samples_middle(const struct samples *s)
{
	return s->count ? percentile(s->values, s->count, 0.5) : 0;
}

double samples_most(const struct samples *s)
{
	return s->count ? s->values[s->count - 1] : 0;
}

void samples_clear(struct samples *s)
{
	free(s->values);
	*s = (struct samples){.values = NULL};
}

bool bounds_upper(const double *sorted, size_t count, double *ret)
{
	double n = (double)count;
	double rank = ceil(
		n * BOUNDS_COVERAGE +
		BOUNDS_Z * sqrt(n * BOUNDS_COVERAGE * (1 - BOUNDS_COVERAGE)));

	if (count < BOUNDS_SAMPLES_MIN)
		return false;
	*ret = sorted[rank < n ? (size_t)rank - 1 : count - 1];
	return true;
}
