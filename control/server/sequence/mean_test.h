/**
 * A sequential test of a mean: does the mean of values between 0 and 1 lie above a limit? The
 * answer may be looked at after each value; the chance that it ever says "above" although it is not
 * stays below the level that it is compared with.
 *
 * Method: betting against "the mean is at most the limit" at fair odds (Waudby-Smith and Ramdas,
 * Estimating means of bounded random variables by betting, 2024, section 4). With stake c of the
 * capital, a value x multiplies it by 1 - c + c x / limit. The capital of a bet does not grow on
 * average as long as the mean is at most the limit, so by Ville's inequality it ever reaches 1 / a
 * with a chance of at most a. Several stakes share the capital, as the best one depends on the mean.
 * Assumed: each value's mean, given the values before it, is at most the limit. Nothing is
 * assumed about their distribution.
 *
 * "The mean lies below" is the same test of 1 - x against 1 - limit.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_SEQUENCE_MEAN_TEST_H
#define OFFHOOK_SERVER_SEQUENCE_MEAN_TEST_H

#include <stddef.h>

#define MEAN_TEST_STAKES 14

struct mean_test {
	double limit;
	/* of each stake; one that has lost so much that it becomes 0 is out of
	 * the game, which favours the limit */
	double capital[MEAN_TEST_STAKES];
};

/** @param limit  0 to 1 */
void mean_test_begin(struct mean_test *t, double limit);

/** Take the next value. @param value  0 to 1 */
void mean_test_add(struct mean_test *t, double value);

/** The evidence for "above" so far: the natural logarithm of the capital. Above -log(a), the chance
 * of an error is at most a. */
double mean_test_evidence(const struct mean_test *t);

/** The evidence after `count` values, of which `ones` are 1 and all others 0, in any order.
 * @return INFINITY if ones is above count */
double mean_test_share_evidence(size_t ones, size_t count, double limit);

/**
 * Where the mean lies, whenever one looks: the interval of the limits that neither test refuses,
 * each at half of the error.
 * @param values  0 to 1; they are sorted
 * @param error   chance that the mean ever lies outside, 0 to 1
 */
void mean_interval(double *values, size_t count, double error, double *ret_low,
		   double *ret_high);

#endif
