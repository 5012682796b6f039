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

static void adapt(struct jb_adaptive *j, double q, double period_ms)
{
	double a = q > j->mean_ms ? BETA : ALPHA;
	double target;

	j->mean_ms = a * j->mean_ms + (1 - a) * q;
	j->deviation_ms =
		ALPHA * j->deviation_ms + (1 - ALPHA) * fabs(j->mean_ms - q);
	target = j->mean_ms + DEVIATIONS * j->deviation_ms;
	target = fmin(fmax(target, j->min_ms + DELAY_MIN_MS),
		      j->min_ms + DELAY_MAX_MS);
	if (target > j->playout_ms)
		j->playout_ms = target;
	else
		j->playout_ms =
			fmax(target, j->playout_ms - SHRINK_PACKET * period_ms);
}

enum jb_fate jb_adaptive_update(struct jb_adaptive *j, double transit_ms,
				double period_ms)
{
	enum jb_fate fate = JB_PLAYED;

	if (!j->started) {
		j->started = true;
		j->mean_ms = transit_ms;
		j->deviation_ms = 0.0;
		j->min_ms = transit_ms;
		j->playout_ms = transit_ms + DELAY_MIN_MS;
	}
	if (transit_ms > j->playout_ms) {
		fate = JB_LATE;
		j->late++;
	} else {
		j->played++;
		j->delay_sum_ms += j->playout_ms - j->min_ms;
	}
	j->min_ms = fmin(j->min_ms, transit_ms);
	adapt(j, transit_ms, period_ms);
	return fate;
}

void jb_adaptive_very_late(struct jb_adaptive *j)
{
	j->late++;
}

double jb_adaptive_delay_ms(const struct jb_adaptive *j)
{
	return j->played ? j->delay_sum_ms / (double)j->played : 0.0;
}
