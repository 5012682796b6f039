#include "control/capacity/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Spreads of the limit that are thought of: relative loads over which the chance falls from 73 to
 * 27 % is twice as much. */
static const double spreads[] = {0.005, 0.02, 0.08, 0.32};
#define SPREADS (sizeof(spreads) / sizeof(*spreads))

/* A trial in so many goes the other way, at whatever load. */
#define LAPSE 0.02
/* Cells of the capacity's grid in an interval of the width asked for. */
#define CELLS_PER_WIDTH 12
/* How far beyond the range the capacity is thought to lie, at most. */
#define BEYOND 2.0
/* Probability that the interval leaves out on each side. The simulations of
 * test-search.c say what coverage that gives. */
#define TAIL 0.04
/* Times the cool-down that a doubtful trial waits at most. */
#define REPEAT_PAUSE_MAX 16
/* Loads that are compared, between these quantiles. */
#define CANDIDATES     32
#define CANDIDATE_TAIL 0.005
/* Relative distance of the end of the range from the only end that is known. */
#define END_WIDTH 0.1
/* What is less probable is not looked at for the next load. */
#define NEGLIGIBLE 1e-7
/* The logistic function is 0 or 1 beyond. */
#define LOGISTIC_MAX 14.0

struct search {
	/* constant */
	struct search_params p;
	double first; /* logarithm of the capacity of cell 0 */
	double cell;  /* of a cell, logarithmic */
	size_t cells;
	/* what is known */
	double *weight;   /* [cells][SPREADS], sum 1 */
	double *marginal; /* [cells], sum 1 */
	struct search_trial trials[SEARCH_TRIALS_MAX];
	size_t count;
	bool recovers;  /* a trial held just after one that failed */
	unsigned pause; /* times the cool-down; of the next repeat of a
			 * doubtful trial, until it is known to recover */
	unsigned repeat_pause;
	double ceiling; /* above it trials that held do not count; 0: none */
};

/* ---- the model ---- */

static double share(double ln_load, double ln_capacity, double spread)
{
	double z = (ln_load - ln_capacity) / spread;

	if (z > LOGISTIC_MAX)
		return 0;
	return z < -LOGISTIC_MAX ? 1 : 1 / (1 + exp(z));
}

static double held_chance(double ln_load, double ln_capacity, double spread)
{
	return LAPSE + (1 - 2 * LAPSE) * share(ln_load, ln_capacity, spread);
}

static double ln_capacity(const struct search *s, size_t cell)
{
	return s->first + ((double)cell + 0.5) * s->cell;
}

static void forget(struct search *s)
{
	double equal = 1 / (double)(s->cells * SPREADS);

	for (size_t i = 0; i < s->cells * SPREADS; i++)
		s->weight[i] = equal;
}

/* Bayes' rule for one trial. */
static void learn(struct search *s, const struct search_trial *trial)
{
	double ln_load = log(trial->load), sum = 0;
	size_t cell, k;

	for (cell = 0; cell < s->cells; cell++)
		for (k = 0; k < SPREADS; k++) {
			double chance = held_chance(
				ln_load, ln_capacity(s, cell), spreads[k]);
			double *w = &s->weight[cell * SPREADS + k];

			*w *= trial->outcome == SEARCH_HELD ? chance
							    : 1 - chance;
			sum += *w;
		}
	for (cell = 0; cell < s->cells; cell++) {
		s->marginal[cell] = 0;
		for (k = 0; k < SPREADS; k++) {
			s->weight[cell * SPREADS + k] /= sum;
			s->marginal[cell] += s->weight[cell * SPREADS + k];
		}
	}
}

static bool counts(const struct search *s, const struct search_trial *trial)
{
	return !trial->discarded &&
	       (s->ceiling == 0 || trial->outcome != SEARCH_HELD ||
		trial->load <= s->ceiling);
}

static void learn_again(struct search *s)
{
	forget(s);
	for (size_t i = 0; i < s->count; i++)
		if (counts(s, &s->trials[i]))
			learn(s, &s->trials[i]);
}

/* The capacity below which it lies with this probability, linear within a cell. */
static double quantile(const struct search *s, double probability)
{
	double below = 0;

	for (size_t i = 0; i < s->cells; i++) {
		double here = s->marginal[i];

		if (below + here >= probability && here > 0)
			return exp(s->first +
				   ((double)i + (probability - below) / here) *
					   s->cell);
		below += here;
	}
	return exp(s->first + (double)s->cells * s->cell);
}

/* ---- loads ---- */

/* A multiple of the step within the range. @param round_to  floor, ceil or round */
static double to_step(const struct search *s, double load,
		      double (*round_to)(double))
{
	double lowest = ceil(s->p.min / s->p.step - 1e-9);
	double highest = floor(s->p.max / s->p.step + 1e-9);
	double steps = round_to(load / s->p.step);

	return fmin(fmax(steps, lowest), highest) * s->p.step;
}

static bool same(const struct search *s, double a, double b)
{
	return fabs(a - b) < s->p.step / 2;
}

/* True if both ends are as close as asked for, or cannot be closer. The end of the
 * range stands for one that is not known, which is close enough only where the known one
 * is near it: else the range would be the result. */
static bool narrow(const struct search *s, const struct search_result *r)
{
	double width = s->p.width;

	if (!r->has_lower && !r->has_upper)
		return false;
	if (!r->has_lower || !r->has_upper)
		width = fmin(width, END_WIDTH);
	return r->upper - r->lower <=
	       fmax(width * r->lower, s->p.step) * (1 + 1e-9);
}

static size_t trials_at(const struct search *s, double from, double to,
			bool held)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct search_trial *t = &s->trials[i];

		if (counts(s, t) && (t->outcome == SEARCH_HELD) == held &&
		    t->load > from - s->p.step / 2 &&
		    t->load < to + s->p.step / 2)
			n++;
	}
	return n;
}

/* ---- outcomes that contradict each other ---- */

/* True if this load failed for certain: all its trials did, and a load that is higher by more than
 * the width held as often. */
static bool is_inverted(const struct search *s, double load)
{
	unsigned enough = s->p.repeats > 2 ? s->p.repeats : 2;

	if (trials_at(s, load, load, false) < enough ||
	    trials_at(s, load, load, true) > 0)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		double other = s->trials[i].load;

		if (other > load * (1 + s->p.width) &&
		    trials_at(s, other, other, true) >= enough &&
		    trials_at(s, other, other, false) == 0)
			return true;
	}
	return false;
}

/* MLRsearch: a lower bound above an upper one is not relevant. */
static void look_for_inversion(struct search *s)
{
	double lowest = s->ceiling;

	for (size_t i = 0; i < s->count; i++) {
		double load = s->trials[i].load;

		if ((lowest == 0 || load < lowest) && is_inverted(s, load))
			lowest = load;
	}
	if (lowest == s->ceiling)
		return;
	s->ceiling = lowest;
	learn_again(s);
}

/* ---- failures of a target that had not recovered from the trial before ---- */

static const struct search_trial *from_end(const struct search *s, size_t n)
{
	return s->count >= n ? &s->trials[s->count - n] : NULL;
}

static bool failed(const struct search_trial *trial)
{
	return trial && trial->outcome == SEARCH_FAILED;
}

/* True if the last trial may have failed for the one before it alone. */
static bool is_doubtful(const struct search *s)
{
	const struct search_trial *last = from_end(s, 1);
	const struct search_trial *before = from_end(s, 2);

	return !s->recovers && failed(last) && failed(before) &&
	       last->load < before->load && !same(s, last->load, before->load);
}

/* All that failed since the first failure was without a pause that is known to be long enough; the
 * first one came after a trial that held. */
static void discard_failures(struct search *s)
{
	for (size_t i = s->count - 1; i >= 2; i--) {
		if (!failed(&s->trials[i - 1]) || !failed(&s->trials[i - 2]))
			break;
		s->trials[i - 1].discarded = true;
	}
	learn_again(s);
}

static void judge_recovery(struct search *s)
{
	const struct search_trial *last = from_end(s, 1);
	const struct search_trial *before = from_end(s, 2);
	const struct search_trial *first = from_end(s, 3);
	bool repeat = failed(before) && failed(first) &&
		      same(s, last->load, before->load) &&
		      before->load < first->load;

	if (s->recovers || !failed(before))
		return;
	s->recovers = last->outcome == SEARCH_HELD;
	if (!repeat)
		return;
	if (s->recovers) {
		s->pause = s->repeat_pause;
		discard_failures(s);
	} else if (s->repeat_pause < REPEAT_PAUSE_MAX) {
		s->repeat_pause *= 2;
	}
}

/* ---- a tester that was disturbed ---- */

/* True if the last trial is the only one that says that the tester cannot offer its load. */
static bool is_unconfirmed(const struct search *s)
{
	const struct search_trial *last = from_end(s, 1);

	if (last->outcome != SEARCH_SATURATED)
		return false;
	for (size_t i = 0; i + 1 < s->count; i++)
		if (s->trials[i].outcome == SEARCH_SATURATED &&
		    !s->trials[i].discarded &&
		    s->trials[i].load < last->load + s->p.step / 2)
			return false;
	return true;
}

/* The load could be offered when it was tried again. */
static void judge_saturation(struct search *s)
{
	struct search_trial *before =
		s->count >= 2 ? &s->trials[s->count - 2] : NULL;
	const struct search_trial *last = from_end(s, 1);

	if (!before || before->outcome != SEARCH_SATURATED ||
	    last->outcome == SEARCH_SATURATED ||
	    !same(s, last->load, before->load))
		return;
	before->discarded = true;
	learn_again(s);
}

/* ---- the next load ---- */

/* Bits of the outcome of a trial that holds with this chance. */
static double entropy(double chance)
{
	return -chance * log2(chance) - (1 - chance) * log2(1 - chance);
}

/* What the outcome at a load tells about the capacity: mutual information. */
static double information(const struct search *s, double load)
{
	double ln_load = log(load), held = 0, given = 0, all = 0;

	for (size_t cell = 0; cell < s->cells; cell++) {
		const double *w = &s->weight[cell * SPREADS];
		double chance = 0;

		if (s->marginal[cell] < NEGLIGIBLE)
			continue;
		for (size_t k = 0; k < SPREADS; k++)
			chance += w[k] * held_chance(ln_load,
						     ln_capacity(s, cell),
						     spreads[k]);
		held += chance;
		all += s->marginal[cell];
		given +=
			s->marginal[cell] * entropy(chance / s->marginal[cell]);
	}
	return entropy(held / all) - given / all;
}

static double most_informative(const struct search *s)
{
	double low = log(quantile(s, CANDIDATE_TAIL));
	double high = log(quantile(s, 1 - CANDIDATE_TAIL));
	double best = -1, best_load = s->p.min, last = -1;

	for (int i = 0; i <= CANDIDATES; i++) {
		double load = to_step(
			s, exp(low + (high - low) * i / CANDIDATES), round);
		double bits;

		if (same(s, load, last))
			continue;
		last = load;
		bits = information(s, load);
		if (bits > best) {
			best = bits;
			best_load = load;
		}
	}
	return best_load;
}

/* An end of the interval at which there were too few trials. */
static bool end_to_repeat(const struct search *s, const struct search_result *r,
			  double *ret)
{
	double near = 1 + s->p.width;

	if (r->has_lower &&
	    trials_at(s, r->lower / near, s->p.max, true) < s->p.repeats) {
		*ret = r->lower;
		return true;
	}
	if (r->has_upper &&
	    trials_at(s, s->p.min, r->upper * near, false) < s->p.repeats) {
		*ret = r->upper;
		return true;
	}
	return false;
}

bool search_next(const struct search *s, struct search_next *ret)
{
	struct search_result r;

	if (s->count >= s->p.trials_max)
		return false;
	ret->pause = s->pause;
	if (s->count == 0) {
		ret->load = to_step(s, s->p.min, ceil);
		return true;
	}
	if (is_doubtful(s)) {
		ret->load = from_end(s, 1)->load;
		ret->pause = s->repeat_pause;
		return true;
	}
	if (is_unconfirmed(s)) {
		ret->load = from_end(s, 1)->load;
		return true;
	}
	search_result(s, &r);
	if (!r.reached)
		ret->load = most_informative(s);
	else if (!end_to_repeat(s, &r, &ret->load))
		return false;
	return true;
}

/* ---- the result ---- */

/* The condition that failed most often among trials at these loads, and whether it was the tester
 * instead.
 * @return false: no trial failed there */
static bool limiting(const struct search *s, double from, double to,
		     struct search_result *r)
{
	size_t most = 0, saturated = 0, target = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct search_trial *t = &s->trials[i];
		size_t alike = 0;

		if (t->discarded || t->outcome == SEARCH_HELD ||
		    t->load < from || t->load > to)
			continue;
		if (t->outcome == SEARCH_SATURATED) {
			saturated++;
			continue;
		}
		target++;
		for (size_t k = 0; k < s->count; k++)
			alike += failed(&s->trials[k]) &&
				 s->trials[k].cause == t->cause &&
				 s->trials[k].load >= from &&
				 s->trials[k].load <= to;
		if (alike > most) {
			most = alike;
			r->cause = t->cause;
		}
	}
	r->limit =
		saturated > target ? SEARCH_LIMIT_TESTER : SEARCH_LIMIT_TARGET;
	if (r->limit == SEARCH_LIMIT_TESTER)
		r->cause = SEARCH_CAUSE_NONE;
	return saturated + target > 0;
}

static double mean_spread(const struct search *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->cells * SPREADS; i++)
		sum += s->weight[i] * spreads[i % SPREADS];
	return sum;
}

void search_result(const struct search *s, struct search_result *ret)
{
	double low = quantile(s, TAIL), high = quantile(s, 1 - TAIL);
	double min = to_step(s, s->p.min, ceil);
	double max = to_step(s, s->p.max, floor);

	*ret = (struct search_result){
		.has_lower = low >= min,
		.has_upper = high <= max,
		.lower = to_step(s, low, floor),
		.upper = to_step(s, high, ceil),
		.capacity = fmin(fmax(quantile(s, 0.5), min), max),
		.spread = mean_spread(s),
		.cause = SEARCH_CAUSE_NONE,
		.not_monotone = s->ceiling > 0,
	};
	ret->reached = narrow(s, ret);
	if (!limiting(s, ret->lower, ret->upper * (1 + 2 * s->p.width), ret))
		(void)limiting(s, 0, INFINITY, ret);
	if (!ret->has_upper && ret->reached)
		ret->limit = SEARCH_LIMIT_ABOVE;
	if (!ret->has_lower && ret->reached)
		ret->limit = SEARCH_LIMIT_BELOW;
}

const struct search_trial *search_trials(const struct search *s,
					 size_t *ret_count)
{
	*ret_count = s->count;
	return s->trials;
}

double search_chance(const struct search *s, double load)
{
	double ln_load = log(load), sum = 0;

	for (size_t cell = 0; cell < s->cells; cell++)
		for (size_t k = 0; k < SPREADS; k++)
			sum += s->weight[cell * SPREADS + k] *
			       share(ln_load, ln_capacity(s, cell), spreads[k]);
	return sum;
}

/* ---- life ---- */

int search_add(struct search *s, const struct search_trial *trial)
{
	if (!(trial->load > 0) || trial->load > s->p.max * 2 ||
	    trial->load < s->p.min / 2)
		return -EINVAL;
	if (s->count == SEARCH_TRIALS_MAX)
		return -ENOSPC;
	s->trials[s->count] = *trial;
	s->trials[s->count].discarded = false;
	s->count++;
	if (counts(s, trial))
		learn(s, trial);
	judge_recovery(s);
	judge_saturation(s);
	look_for_inversion(s);
	return 0;
}

static bool is_valid(const struct search_params *p)
{
	return p->min > 0 && p->max > p->min &&
	       p->max / p->min <= SEARCH_RATIO_MAX && p->step > 0 &&
	       floor(p->max / p->step + 1e-9) > ceil(p->min / p->step - 1e-9) &&
	       p->width >= SEARCH_WIDTH_MIN && p->width <= SEARCH_WIDTH_MAX &&
	       p->repeats >= 1 && p->trials_max >= 1 &&
	       p->trials_max <= SEARCH_TRIALS_MAX;
}

int search_new(struct search **ret, const struct search_params *p)
{
	struct search *s;

	if (!is_valid(p))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->p = *p;
	s->pause = 1;
	s->repeat_pause = 2;
	s->first = log(p->min / BEYOND);
	s->cell = log1p(p->width) / CELLS_PER_WIDTH;
	s->cells = (size_t)ceil((log(p->max * BEYOND) - s->first) / s->cell);
	s->weight = calloc(s->cells * SPREADS, sizeof(*s->weight));
	s->marginal = calloc(s->cells, sizeof(*s->marginal));
	if (!s->weight || !s->marginal) {
		search_free(s);
		return -ENOMEM;
	}
	forget(s);
	for (size_t i = 0; i < s->cells; i++)
		s->marginal[i] = 1 / (double)s->cells;
	*ret = s;
	return 0;
}

struct search *search_free(struct search *s)
{
	if (s) {
		free(s->weight);
		free(s->marginal);
	}
	free(s);
	return NULL;
}
