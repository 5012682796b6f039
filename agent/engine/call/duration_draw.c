#include "agent/engine/call/duration_draw.h"

#include "base/clock.h"

#include <math.h>

#define DURATION_S_MAX 86400.0

static uint64_t next(struct duration_draw *d)
{
	uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

double duration_draw_unit(struct duration_draw *d)
{
	/* 53 bits and a half: neither 0 nor 1 is possible. */
	return ((double)(next(d) >> 11) + 0.5) / 9007199254740992.0;
}

/** Standard normal deviate (Box and Muller 1958). */
static double normal(struct duration_draw *d)
{
	double u = duration_draw_unit(d);
	double v = duration_draw_unit(d);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

int64_t duration_draw_ns(struct duration_draw *d,
			 const struct wire_duration *duration)
{
	double s = duration->a_s;

	switch (duration->kind) {
	case WIRE_DURATION_FIXED:
		break;
	case WIRE_DURATION_UNIFORM:
		s += (duration->b_s - duration->a_s) * duration_draw_unit(d);
		break;
	case WIRE_DURATION_EXPONENTIAL:
		s *= -log(duration_draw_unit(d));
		break;
	case WIRE_DURATION_NORMAL:
		s += duration->b_s * normal(d);
		break;
	}
	if (s < 0)
		s = 0;
	if (s > DURATION_S_MAX)
		s = DURATION_S_MAX;
	return (int64_t)llround(s * (double)NS_PER_S);
}
