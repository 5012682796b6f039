#include "control/server/sequence/mean_test.h"

#include <math.h>
#include <stdlib.h>

/* The largest stake loses nearly all its capital to a value of 0; each further one is half of the one
 * before. */
#define STAKE_MAX 0.98
/* A limit of 0 would make any value prove "above" at once, which is right, but by infinity. */
#define LIMIT_MIN  1e-12
#define BISECTIONS 40

/* Shares of the capital: 1/2, 1/6, 1/12, ... The last stake gets the rest. */
static double share(unsigned k)
{
	return k + 1 == MEAN_TEST_STAKES ? 1.0 / MEAN_TEST_STAKES
					 : 1.0 / ((k + 1.0) * (k + 2.0));
}

/* What a value adds to the stake of 1: gain times the stake. */
static double gain_of(double value, double limit)
{
	return value / fmax(limit, LIMIT_MIN) - 1;
}

void mean_test_begin(struct mean_test *t, double limit)
{
	t->limit = limit;
	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++)
		t->capital[k] = 1;
}

void mean_test_add(struct mean_test *t, double value)
{
	double gain = gain_of(value, t->limit), stake = STAKE_MAX;

	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++, stake /= 2)
		t->capital[k] *= 1 + stake * gain;
}

double mean_test_evidence(const struct mean_test *t)
{
	double sum = 0;

	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++)
		sum += share(k) * t->capital[k];
	return log(sum);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The logarithm of the capital from the logarithms of the stakes' parts. */
static double total(const double logs[static MEAN_TEST_STAKES])
{
	double highest = -INFINITY, sum = 0;

	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++)
		highest = fmax(highest, logs[k]);
	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++)
		sum += share(k) * exp(logs[k] - highest);
	return highest + log(sum);
}

static void take(double logs[static MEAN_TEST_STAKES], size_t times,
		 double value, double limit)
{
	for (unsigned k = 0; k < MEAN_TEST_STAKES; k++)
		logs[k] += (double)times * log1p(ldexp(STAKE_MAX, -(int)k) *
						 gain_of(value, limit));
}

/* The evidence that the mean of the sorted values, or of 1 - each, is above a limit. Equal values
 * are taken at once. */
static double evidence(const double *values, size_t count, int mirrored,
		       double limit)
{
	double logs[MEAN_TEST_STAKES] = {0};

	for (size_t i = 0, next; i < count; i = next) {
		double value = mirrored ? 1 - values[i] : values[i];

		for (next = i + 1; next < count && values[next] == values[i];)
			next++;
		take(logs, next - i, value, limit);
	}
	return total(logs);
}

double mean_test_share_evidence(size_t ones, size_t count, double limit)
{
	double logs[MEAN_TEST_STAKES] = {0};

	if (ones > count)
		return INFINITY;
	take(logs, ones, 1, limit);
	take(logs, count - ones, 0, limit);
	return total(logs);
}

/* The lowest limit that is not refused: the evidence falls as the limit rises. */
static double lowest(const double *values, size_t count, int mirrored,
		     double refused)
{
	double low = 0, high = 1;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (evidence(values, count, mirrored, middle) >= refused)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void mean_interval(double *values, size_t count, double error, double *ret_low,
		   double *ret_high)
{
	double refused = -log(error / 2);

	qsort(values, count, sizeof(*values), by_value);
	*ret_low = lowest(values, count, 0, refused);
	*ret_high = 1 - lowest(values, count, 1, refused);
}
