#include "control/server/sequence/quantile.h"

#include "control/server/sequence/mean_test.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How many of the values must be on one side of a point, so that more than `share` of all are proved
 * to be there. @return count + 1: more than there are */
static size_t needed(size_t count, double share, double refused)
{
	size_t low = 0, high = count + 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mean_test_share_evidence(middle, count, share) >= refused)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void quantile_interval(double *values, size_t count, double share, double error,
		       double *ret_low, double *ret_high)
{
	double refused = -log(error / 2);
	size_t up_to = needed(count, share, refused);
	size_t from = needed(count, 1 - share, refused);

	qsort(values, count, sizeof(*values), by_value);
	/* it is at most the value with `up_to` at or below it, and at least the one with `from` at or
	 * above it */
	*ret_high = up_to <= count ? values[up_to - 1] : INFINITY;
	*ret_low = from <= count ? values[count - from] : -INFINITY;
}
