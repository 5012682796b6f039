#include "media/analysis/jitter_buffer.h"

#include <float.h>
#include <math.h>

/* Ramjee 1994: alpha of algorithm 1, beta of algorithm 2 */
#define ALPHA         0.998002
#define BETA          0.75
#define DEVIATIONS    4.0
#define SHRINK_PACKET 0.1

void jb_fixed_init(struct jb_fixed *j, double delay_ms)
{
	*j = (struct jb_fixed){
		.delay_ms = delay_ms,
		.depth_ms = delay_ms + JB_FIXED_EARLY_MS,
	};
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
	if (ahead_ms > j->depth_ms) {
		j->early++;
		j->in_row++;
		return JB_EARLY;
	}
	j->in_row = 0;
	return JB_PLAYED;
}

static uint32_t all_of(size_t count)
{
	return (uint32_t)((UINT64_C(1) << count) - 1);
}

uint32_t jb_fixed_run(struct jb_fixed *j, const struct jb_run *run)
{
	const double deadline_ms = j->anchor_ms + j->delay_ms;
	uint32_t played = 0;

	if (j->in_row < JB_FIXED_REANCHOR && deadline_ms - run->max_ms >= 0.0 &&
	    deadline_ms - run->min_ms <= j->depth_ms) {
		j->in_row = 0;
		return all_of(run->count);
	}
	for (size_t i = 0; i < run->count; i++)
		played |= (uint32_t)(jb_fixed_update(j, run->transit_ms[i]) ==
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
	jb_adaptive_init_range(j, JB_ADAPTIVE_MIN_MS, JB_ADAPTIVE_MAX_MS);
}

void jb_adaptive_init_range(struct jb_adaptive *j, double min_ms, double max_ms)
{
	*j = (struct jb_adaptive){
		.delay_min_ms = min_ms,
		.delay_max_ms = max_ms,
	};
}

void jb_adaptive_epoch(struct jb_adaptive *j)
{
	j->started = false;
}

/* fmin() and fmax() would be function calls. */
static inline double lower(double a, double b)
{
	return a < b ? a : b;
}

static inline double higher(double a, double b)
{
	return a > b ? a : b;
}

/* Values that do not change from packet to packet. */
struct limits {
	double low_ms;
	double high_ms;
	double shrink_ms;
};

static struct limits limits_of(const struct jb_adaptive *j, double period_ms)
{
	return (struct limits){
		.low_ms = j->min_ms + j->delay_min_ms,
		.high_ms = j->min_ms + j->delay_max_ms,
		.shrink_ms = SHRINK_PACKET * period_ms,
	};
}

static inline void adapt(struct jb_adaptive *j, double q,
			 const struct limits *l)
{
	double target;

	/* algorithm 2 when the delay grows: then BETA gives the larger value */
	j->mean_ms = higher(ALPHA * j->mean_ms + (1 - ALPHA) * q,
			    BETA * j->mean_ms + (1 - BETA) * q);
	j->spread_ms = ALPHA * j->spread_ms +
		       DEVIATIONS * (1 - ALPHA) * fabs(j->mean_ms - q);
	target = j->mean_ms + j->spread_ms;
	target = lower(higher(target, l->low_ms), l->high_ms);
	/* grows at once, shrinks in steps */
	j->playout_ms = higher(target, j->playout_ms - l->shrink_ms);
}

static void start(struct jb_adaptive *j, double transit_ms)
{
	j->started = true;
	j->mean_ms = transit_ms;
	j->spread_ms = 0.0;
	j->min_ms = transit_ms;
	j->window_min_ms = transit_ms;
	j->window_packets = 0;
	j->playout_ms = transit_ms + j->delay_min_ms;
}

static void take_minimum(struct jb_adaptive *j, double transit_ms)
{
	j->min_ms = lower(j->min_ms, transit_ms);
	j->window_min_ms = lower(j->window_min_ms, transit_ms);
	if (++j->window_packets < JB_ADAPTIVE_WINDOW)
		return;
	j->min_ms = j->window_min_ms;
	j->window_min_ms = DBL_MAX;
	j->window_packets = 0;
}

enum jb_fate jb_adaptive_update(struct jb_adaptive *j, double transit_ms,
				double period_ms)
{
	struct limits l;
	bool played;

	if (!j->started)
		start(j, transit_ms);
	played = transit_ms <= j->playout_ms;
	if (played) {
		j->delay_sum_ms += j->playout_ms - j->min_ms;
		j->played++;
	} else {
		j->late++;
	}
	take_minimum(j, transit_ms);
	l = limits_of(j, period_ms);
	adapt(j, transit_ms, &l);
	return played ? JB_PLAYED : JB_LATE;
}

/* Process a run without a new minimum or window in which no packet is late.
 * @return false: it is not such a run, j unchanged */
static bool run_plain(struct jb_adaptive *j, const struct jb_run *run,
		      double period_ms)
{
	const struct limits l = limits_of(j, period_ms);
	struct jb_adaptive now = *j; /* in registers */
	double sum_ms = 0.0;
	double ahead_ms = 0.0; /* minimum margin; below 0: late */

	if (!j->started || run->min_ms < j->min_ms ||
	    j->window_packets + run->count >= JB_ADAPTIVE_WINDOW)
		return false;
	for (size_t i = 0; i < run->count; i++) {
		double q = run->transit_ms[i];

		ahead_ms = lower(now.playout_ms - q, ahead_ms);
		sum_ms += now.playout_ms;
		adapt(&now, q, &l);
	}
	if (ahead_ms < 0.0)
		return false;
	now.delay_sum_ms += sum_ms - (double)run->count * j->min_ms;
	now.played += run->count;
	now.window_min_ms = lower(now.window_min_ms, run->min_ms);
	now.window_packets += (uint32_t)run->count;
	*j = now;
	return true;
}

uint32_t jb_adaptive_run(struct jb_adaptive *j, const struct jb_run *run,
			 double period_ms)
{
	uint32_t played = 0;

	if (run_plain(j, run, period_ms))
		return all_of(run->count);
	for (size_t i = 0; i < run->count; i++)
		played |= (uint32_t)(jb_adaptive_update(j, run->transit_ms[i],
							period_ms) == JB_PLAYED)
			  << i;
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
