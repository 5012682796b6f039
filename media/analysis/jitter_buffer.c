#include "media/analysis/jitter_buffer.h"

#include <math.h>

/* Ramjee 1994: alpha of algorithm 1, beta of algorithm 2 */
#define ALPHA         0.998002
#define BETA          0.75
#define DEVIATIONS    4.0
#define DELAY_MIN_MS  20.0
#define DELAY_MAX_MS  200.0
#define SHRINK_PACKET 0.1

void jb_fixed_init(struct jb_fixed *j, double delay_ms)
{
	*j = (struct jb_fixed){.delay_ms = delay_ms};
}

void jb_fixed_epoch(struct jb_fixed *j)
{
	j->anchor_ms = 0.0;
	j->in_row = 0;
}

enum jb_fate jb_fixed_update(struct jb_fixed *j, double transit_ms)
{
	double ahead_ms;

	if (j->in_row >= JB_FIXED_REANCHOR) {
		j->anchor_ms = transit_ms;
		j->in_row = 0;
		j->resyncs++;
	}
	ahead_ms = j->anchor_ms + j->delay_ms - transit_ms;
	if (ahead_ms < 0.0) {
		j->late++;
		j->in_row++;
		return JB_LATE;
	}
	if (ahead_ms > JB_FIXED_DEPTH_MS) {
		j->early++;
		j->in_row++;
		return JB_EARLY;
	}
	j->in_row = 0;
	return JB_PLAYED;
}

uint32_t jb_fixed_run(struct jb_fixed *j, const double *transit_ms,
		      size_t count)
{
	const double deadline_ms = j->anchor_ms + j->delay_ms;
	uint32_t played = 0;
	bool plain = j->in_row < JB_FIXED_REANCHOR;

	for (size_t i = 0; i < count; i++) {
		double ahead_ms = deadline_ms - transit_ms[i];

		plain &= ahead_ms >= 0.0 && ahead_ms <= JB_FIXED_DEPTH_MS;
	}
	if (plain) {
		j->in_row = 0;
		return (uint32_t)((UINT64_C(1) << count) - 1);
	}
	for (size_t i = 0; i < count; i++)
		played |= (uint32_t)(jb_fixed_update(j, transit_ms[i]) ==
				     JB_PLAYED)
			  << i;
	return played;
}

void jb_fixed_very_late(struct jb_fixed *j)
{
	j->late++;
}

void jb_adaptive_init(struct jb_adaptive *j)
{
	*j = (struct jb_adaptive){0};
}

void jb_adaptive_epoch(struct jb_adaptive *j)
{
	j->started = false;
}

/* fmin() and fmax() would be calls. */
static inline double lower(double a, double b)
{
	return a < b ? a : b;
}

static inline double higher(double a, double b)
{
	return a > b ? a : b;
}

static inline void adapt(struct jb_adaptive *j, double q, double shrink_ms)
{
	double target;

	/* algorithm 2 where the delay grows: there BETA gives the larger */
	j->mean_ms = higher(ALPHA * j->mean_ms + (1 - ALPHA) * q,
			    BETA * j->mean_ms + (1 - BETA) * q);
	j->deviation_ms =
		ALPHA * j->deviation_ms + (1 - ALPHA) * fabs(j->mean_ms - q);
	target = j->mean_ms + DEVIATIONS * j->deviation_ms;
	target = lower(higher(target, j->min_ms + DELAY_MIN_MS),
		       j->min_ms + DELAY_MAX_MS);
	/* at once when it grows, else by steps */
	j->playout_ms = higher(target, j->playout_ms - shrink_ms);
}

static void start(struct jb_adaptive *j, double transit_ms)
{
	j->started = true;
	j->mean_ms = transit_ms;
	j->deviation_ms = 0.0;
	j->min_ms = transit_ms;
	j->playout_ms = transit_ms + DELAY_MIN_MS;
}

static inline bool play(struct jb_adaptive *j, double transit_ms,
			double shrink_ms)
{
	bool played = transit_ms <= j->playout_ms;

	j->delay_sum_ms += played ? j->playout_ms - j->min_ms : 0.0;
	j->min_ms = lower(j->min_ms, transit_ms);
	adapt(j, transit_ms, shrink_ms);
	return played;
}

enum jb_fate jb_adaptive_update(struct jb_adaptive *j, double transit_ms,
				double period_ms)
{
	return jb_adaptive_run(j, &transit_ms, 1, period_ms) ? JB_PLAYED
							     : JB_LATE;
}

uint32_t jb_adaptive_run(struct jb_adaptive *j, const double *transit_ms,
			 size_t count, double period_ms)
{
	const double shrink_ms = SHRINK_PACKET * period_ms;
	struct jb_adaptive now;
	uint32_t played = 0;
	uint64_t n;

	if (!j->started)
		start(j, transit_ms[0]);
	now = *j; /* in registers */
	for (size_t i = 0; i < count; i++)
		played |= (uint32_t)play(&now, transit_ms[i], shrink_ms) << i;
	*j = now;
	n = (uint64_t)__builtin_popcount(played);
	j->played += n;
	j->late += count - n;
	return played;
}

void jb_adaptive_very_late(struct jb_adaptive *j)
{
	j->late++;
}

double jb_adaptive_delay_ms(const struct jb_adaptive *j)
{
	return j->played ? j->delay_sum_ms / (double)j->played : 0.0;
}
