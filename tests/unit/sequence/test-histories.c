/* Simulated histories of calls that are looked at after each call: how often a system that has not
 * changed is said to be worse or better, and how soon a change is found. The figures are printed, and are
 * those of docs/internals/sequences.md. */
#include "control/server/sequence/mean_decision.h"
#include "control/server/sequence/quantile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HISTORIES 1000
#define CALLS     3000
#define LEVEL     0.05
#define EARLIER   5    /* runs */
#define RUN_CALLS 1000 /* of each of them */

/* xorshift64*, so that every run has the same histories */
static uint64_t state = 88172645463325252u;

static double chance(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

static double exponential(void)
{
	return -log(1 - chance());
}

/* ---- calls ---- */

static double answered(double mean)
{
	return chance() < mean;
}

/* All packets of a call are lost, or none: what tells least of the mean */
static double all_or_none(double mean)
{
	return chance() < mean;
}

/* The share of packets lost in a call of 30 s, 1500 packets of 20 ms. The rate differs from call to
 * call: mean E^2 / 2 with E exponential, so that half of the calls have less than a quarter of the mean and one of
 * a hundred has ten times the mean. Packets are lost in bursts of 3 on average. */
static double bursts(double mean)
{
	const double packets = 1500, burst = 3;
	double e = exponential();
	double rate = fmin(mean * e * e / 2, 1), lost = 0, at = 0;

	while ((at += exponential() * burst / rate) < packets) {
		do
			lost++;
		while (chance() > 1 / burst);
	}
	return fmin(lost / packets, 1);
}

/* Post-dial delay, ms: a median, and a long tail. */
static double delay(double median)
{
	double normal =
		sqrt(2 * exponential()) * cos(2 * 3.14159265358979 * chance());

	return median * exp(0.4 * normal);
}

/* 95 % of delay(median) are below. */
static double delay_p95(double median)
{
	return median * exp(0.4 * 1.6448536269514722);
}

/* ---- what is counted ---- */

struct found {
	int above, below;
	size_t after[HISTORIES]; /* calls until "above"; 0: never */
};

/* The chance of so many of 1000 and more, if each has a chance of 5 % */
static double tail(int count)
{
	double sum = 0;

	for (int k = count; k <= HISTORIES; k++)
		sum += exp(lgamma(HISTORIES + 1) - lgamma(k + 1) -
			   lgamma(HISTORIES - k + 1) + k * log(LEVEL) +
			   (HISTORIES - k) * log(1 - LEVEL));
	return sum;
}

static void note(struct found *f, int i, const struct mean_decision *d)
{
	f->above += d->side == MEAN_ABOVE;
	f->below += d->side == MEAN_BELOW;
	f->after[i] = d->side == MEAN_ABOVE ? d->count : 0;
}

/* So many of the histories had said "above" after so many calls. 0: not so many did at all */
static size_t within(const struct found *f, int share_pct)
{
	for (size_t calls = 1; calls <= CALLS; calls++) {
		int count = 0;

		for (int i = 0; i < HISTORIES; i++)
			count += f->after[i] && f->after[i] <= calls;
		if (count * 100 >= share_pct * HISTORIES)
			return calls;
	}
	return 0;
}

static void expect_no_alarm(const char *what, const struct found *f)
{
	print_message("%-52s above %5.1f %%, below %5.1f %%\n", what,
		      100.0 * f->above / HISTORIES,
		      100.0 * f->below / HISTORIES);
	assert_true(tail(f->above) > LEVEL);
	assert_true(tail(f->below) > LEVEL);
}

static void print_found(const char *what, const struct found *f)
{
	print_message("%-52s found %5.1f %% (a half within %zu calls, 95 %% "
		      "within %zu; 0: not found)\n",
		      what, 100.0 * f->above / HISTORIES, within(f, 50),
		      within(f, 95));
}

static void expect_found(const char *what, const struct found *f)
{
	print_found(what, f);
	assert_true(f->above * 100 >= 95 * HISTORIES);
}

/* ---- a limit that is known ---- */

static struct found against(double limit, double mean, double (*value)(double))
{
	struct found f = {.above = 0};

	for (int i = 0; i < HISTORIES; i++) {
		struct mean_decision d;

		mean_decision_begin(&d, limit, limit, LEVEL);
		for (size_t k = 0; k < CALLS && d.side == MEAN_OPEN; k++) {
			double x = value(mean);

			mean_decision_add(&d, x, x);
		}
		note(&f, i, &d);
	}
	return f;
}

static struct found against_delay(double median)
{
	struct found f = {.above = 0};
	double limit = delay_p95(1000);

	for (int i = 0; i < HISTORIES; i++) {
		struct mean_decision d;

		mean_decision_begin(&d, 0.05, 0.05, LEVEL);
		for (size_t k = 0; k < CALLS && d.side == MEAN_OPEN; k++) {
			double x = delay(median) > limit;

			mean_decision_add(&d, x, x);
		}
		note(&f, i, &d);
	}
	return f;
}

static void test_limit_without_a_change(void **unused)
{
	struct found f;

	(void)unused;
	f = against(0.98, 0.98, answered);
	expect_no_alarm("answer-seizure ratio 98 %, limit 98 %", &f);
	f = against(0.005, 0.005, bursts);
	expect_no_alarm("loss 0.5 % in bursts, limit 0.5 %", &f);
	f = against(0.005, 0.005, all_or_none);
	expect_no_alarm("loss 0.5 %, a call loses all or nothing, limit 0.5 %",
			&f);
	f = against_delay(1000);
	expect_no_alarm("95th percentile of the delay at its limit", &f);
}

static void test_limit_with_a_change(void **unused)
{
	struct found f;

	(void)unused;
	f = against(0.005, 0.015, bursts);
	expect_found("loss 1.5 % in bursts, limit 0.5 %", &f);
	f = against(0.005, 0.015, all_or_none);
	expect_found("loss 1.5 %, a call loses all or nothing, limit 0.5 %",
		     &f);
	f = against_delay(1200);
	expect_found("delays 20 % longer, limit of before", &f);
}

/* ---- against earlier runs ---- */

/* Half of the error is for where the earlier runs are, half for where this one is. */
static struct found regression(double before, double now, double margin,
			       double (*value)(double))
{
	static double earlier[EARLIER * RUN_CALLS];
	struct found f = {.above = 0};

	for (int i = 0; i < HISTORIES; i++) {
		struct mean_decision d;
		double low, high;

		for (size_t k = 0; k < EARLIER * RUN_CALLS; k++)
			earlier[k] = value(before);
		mean_interval(earlier, EARLIER * RUN_CALLS, LEVEL, &low, &high);
		mean_decision_begin(&d, fmin(high + margin, 1),
				    fmin(low + margin, 1), LEVEL / 2);
		for (size_t k = 0; k < CALLS && d.side == MEAN_OPEN; k++) {
			double x = value(now);

			mean_decision_add(&d, x, x);
		}
		note(&f, i, &d);
	}
	return f;
}

static struct found regression_of_delay(double before, double now,
					double margin)
{
	static double earlier[EARLIER * RUN_CALLS];
	struct found f = {.above = 0};

	for (int i = 0; i < HISTORIES; i++) {
		struct mean_decision d;
		double low, high;

		for (size_t k = 0; k < EARLIER * RUN_CALLS; k++)
			earlier[k] = delay(before);
		quantile_interval(earlier, EARLIER * RUN_CALLS, 0.95, LEVEL,
				  &low, &high);
		mean_decision_begin(&d, 0.05, 0.05, LEVEL / 2);
		for (size_t k = 0; k < CALLS && d.side == MEAN_OPEN; k++) {
			double x = delay(now);

			mean_decision_add(&d, x > high + margin,
					  x > low + margin);
		}
		note(&f, i, &d);
	}
	return f;
}

static void test_regression_without_a_change(void **unused)
{
	struct found f;

	(void)unused;
	f = regression(0.98, 0.98, 0, answered);
	expect_no_alarm("answer-seizure ratio 98 % after runs of 98 %", &f);
	f = regression(0.005, 0.005, 0, bursts);
	expect_no_alarm("loss 0.5 % in bursts after runs of 0.5 %", &f);
	f = regression(0.005, 0.005, 0, all_or_none);
	expect_no_alarm("loss 0.5 %, all or nothing, after runs of 0.5 %", &f);
	f = regression_of_delay(1000, 1000, 0);
	expect_no_alarm("delays as in the runs before", &f);
}

/* As much worse as the margin allows is no regression either. */
static void test_regression_at_its_margin(void **unused)
{
	struct found f;

	(void)unused;
	f = regression(0.005, 0.0075, 0.0025, bursts);
	expect_no_alarm("loss 0.75 % in bursts after 0.5 %, margin 0.25 %", &f);
}

/* Where a call loses everything or nothing, 5000 earlier calls have 25 of these: they are known too
 * badly. The figure is printed as it is. */
static void test_regression_is_found(void **unused)
{
	struct found f;

	(void)unused;
	f = regression(0.005, 0.015, 0.0025, bursts);
	expect_found("loss 1.5 % in bursts after 0.5 %, margin 0.25 %", &f);
	f = regression(0.005, 0.015, 0, bursts);
	expect_found("loss 1.5 % in bursts after 0.5 %, no margin", &f);
	f = regression(0.005, 0.015, 0, all_or_none);
	print_found("loss 1.5 %, all or nothing, after 0.5 %, no margin", &f);
	f = regression_of_delay(1000, 1300, 100);
	expect_found("delays 30 % longer than before, margin 100 ms", &f);
}

/* A run as those before is said to be no worse, where the margin leaves room. */
static void test_no_regression_is_found(void **unused)
{
	struct found f;

	(void)unused;
	f = regression(0.005, 0.005, 0.005, bursts);
	print_message("%-52s passed %.1f %%\n",
		      "loss 0.5 % in bursts after 0.5 %, margin 0.5 %",
		      100.0 * f.below / HISTORIES);
	assert_true(f.below * 100 >= 95 * HISTORIES);
	assert_true(tail(f.above) > LEVEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit_without_a_change),
		cmocka_unit_test(test_limit_with_a_change),
		cmocka_unit_test(test_regression_without_a_change),
		cmocka_unit_test(test_regression_at_its_margin),
		cmocka_unit_test(test_regression_is_found),
		cmocka_unit_test(test_no_regression_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
