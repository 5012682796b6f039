/* The search for a capacity against simulated systems whose capacity is known: how often the interval
 * contains it, how wide it is, and how many trials it takes. */
#include "control/capacity/search.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEARCHES 200 /* of a kind */
#define COVERAGE 0.95
#define WIDTH    0.1
#define CAUSE    7

/* xorshift64*, so that every run has the same systems */
static uint64_t state = 88172645463325252u;

static double chance(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

/* Between two values, equally likely at each logarithm. */
static double between(double low, double high)
{
	return low * pow(high / low, chance());
}

/* A system under test with its tester. */
struct simulated {
	/* constant */
	double capacity; /* half of the trials hold here */
	double spread;   /* 0: sharp */
	double tester;   /* loads above it cannot be offered; 0: all can */
	double band_low; /* loads that fail, too; 0: none */
	double band_high;
	double stalls;     /* share of trials in which the host stood still */
	double outliers;   /* share of trials with the other outcome */
	unsigned recovery; /* cool-downs that it needs after a failure */
	/* state */
	bool exhausted;
};

static bool holds(const struct simulated *s, double load)
{
	if (s->band_low > 0 && load >= s->band_low && load <= s->band_high)
		return false;
	if (s->spread == 0)
		return load <= s->capacity;
	return chance() < 1 / (1 + exp(log(load / s->capacity) / s->spread));
}

static enum search_outcome carry_out(struct simulated *s,
				     const struct search_next *next)
{
	bool held;

	if ((s->tester > 0 && next->load > s->tester) || chance() < s->stalls)
		return SEARCH_SATURATED;
	if (next->pause >= s->recovery)
		s->exhausted = false;
	held = !s->exhausted && holds(s, next->load);
	if (chance() < s->outliers)
		held = !held;
	s->exhausted = !held && s->recovery > 1;
	return held ? SEARCH_HELD : SEARCH_FAILED;
}

/* Search until it is over. @return trials */
static size_t search(struct simulated *s, const struct search_params *p,
		     struct search_result *ret)
{
	struct search_next next;
	struct search *search;
	size_t count;

	assert_int_equal(search_new(&search, p), 0);
	while (search_next(search, &next)) {
		struct search_trial trial = {
			.load = next.load,
			.outcome = carry_out(s, &next),
			.cause = CAUSE,
		};

		assert_true(next.load >= p->min - 1e-9);
		assert_true(next.load <= p->max + 1e-9);
		assert_true(fabs(remainder(next.load, p->step)) < 1e-6);
		assert_int_equal(search_add(search, &trial), 0);
	}
	search_result(search, ret);
	(void)search_trials(search, &count);
	search_free(search);
	return count;
}

static const struct search_params calls = {.min = 1,
					   .max = 1000,
					   .step = 1,
					   .width = WIDTH,
					   .repeats = 2,
					   .trials_max = 100};
static const struct search_params rates = {.min = 2,
					   .max = 500,
					   .step = 0.01,
					   .width = WIDTH,
					   .repeats = 2,
					   .trials_max = 200};

/* Many searches of one kind.
 * @param prepare  makes a system, whose limit it returns */
static void search_many(const char *kind, const struct search_params *p,
			double (*prepare)(struct simulated *s),
			enum search_limit limit)
{
	size_t contained = 0, named = 0, trials = 0, most = 0;
	double widest = 0;

	for (int i = 0; i < SEARCHES; i++) {
		struct simulated s = {0};
		double truth = prepare(&s);
		struct search_result r;
		size_t n = search(&s, p, &r);
		double width = r.upper - r.lower;

		assert_true(r.reached && r.has_lower && r.has_upper);
		assert_true(width <= fmax(WIDTH * r.lower, p->step) + 1e-9);
		if (WIDTH * r.lower >= p->step)
			widest = fmax(widest, width / r.lower);
		contained += truth >= r.lower - 1e-9 && truth <= r.upper + 1e-9;
		named += r.limit == limit &&
			 r.cause == (limit == SEARCH_LIMIT_TARGET
					     ? CAUSE
					     : SEARCH_CAUSE_NONE);
		trials += n;
		most = n > most ? n : most;
	}
	print_message("%s: %zu of %d intervals contain the capacity, widest "
		      "%.1f %%, %zu name the limit, %.1f trials on average, "
		      "%zu at most\n",
		      kind, contained, SEARCHES, 100 * widest, named,
		      (double)trials / SEARCHES, most);
	assert_true((double)contained >= COVERAGE * SEARCHES);
	/* a host that stands still twice in a row is taken for the limit */
	assert_true((double)named >= COVERAGE * SEARCHES);
}

/* ---- kinds of systems ---- */

static double refuses_above(struct simulated *s)
{
	return s->capacity = floor(between(3, 900));
}

static void test_sharp_limit(void **unused)
{
	(void)unused;
	search_many("sharp limit", &calls, refuses_above, SEARCH_LIMIT_TARGET);
}

static double soft(struct simulated *s)
{
	s->spread = between(0.005, 0.05);
	return s->capacity = between(5, 300);
}

static void test_soft_limit(void **unused)
{
	(void)unused;
	search_many("soft limit", &rates, soft, SEARCH_LIMIT_TARGET);
}

static double recovers_slowly(struct simulated *s)
{
	s->recovery = chance() < 0.5 ? 2 : 4;
	return refuses_above(s);
}

static void test_slow_recovery(void **unused)
{
	(void)unused;
	search_many("slow recovery", &calls, recovers_slowly,
		    SEARCH_LIMIT_TARGET);
}

static double with_outliers(struct simulated *s)
{
	s->outliers = 0.02;
	return refuses_above(s);
}

static void test_outliers(void **unused)
{
	(void)unused;
	search_many("outliers", &calls, with_outliers, SEARCH_LIMIT_TARGET);
}

static double on_a_busy_host(struct simulated *s)
{
	s->stalls = 0.04;
	return refuses_above(s);
}

static void test_tester_is_disturbed(void **unused)
{
	(void)unused;
	search_many("tester disturbed", &calls, on_a_busy_host,
		    SEARCH_LIMIT_TARGET);
}

static double tester_is_the_limit(struct simulated *s)
{
	s->tester = floor(between(5, 400));
	s->capacity = 2 * s->tester;
	return s->tester;
}

static void test_tester_saturates(void **unused)
{
	(void)unused;
	search_many("tester saturates", &calls, tester_is_the_limit,
		    SEARCH_LIMIT_TESTER);
}

/* ---- single searches ---- */

static void test_lowest_load_fails(void **unused)
{
	struct simulated s = {.capacity = 0.5};
	struct search_result r;
	size_t trials = search(&s, &calls, &r);

	(void)unused;
	assert_int_equal(r.limit, SEARCH_LIMIT_BELOW);
	assert_false(r.has_lower);
	assert_int_equal(r.cause, CAUSE);
	assert_true(trials <= 4);
}

static void test_highest_load_holds(void **unused)
{
	struct simulated s = {.capacity = 5000};
	struct search_result r;
	size_t trials = search(&s, &calls, &r);

	(void)unused;
	assert_int_equal(r.limit, SEARCH_LIMIT_ABOVE);
	assert_true(r.has_lower && !r.has_upper);
	assert_true(r.lower >= 900);
	assert_true(trials <= 10);
}

/* A range that is as narrow as the interval: an end is known, or nothing is. */
static void test_narrow_range(void **unused)
{
	static const struct {
		double min, max, width, capacity;
		enum search_limit limit;
	} cases[] = {
		{4, 5, WIDTH, 100, SEARCH_LIMIT_ABOVE},
		{4, 5, WIDTH, 4.5, SEARCH_LIMIT_TARGET},
		{4, 5, WIDTH, 1, SEARCH_LIMIT_BELOW},
		{10, 20, 1, 100, SEARCH_LIMIT_ABOVE},
		{10, 20, 1, 15, SEARCH_LIMIT_TARGET},
		{10, 20, 1, 1, SEARCH_LIMIT_BELOW},
		{100, 110, WIDTH, 1000, SEARCH_LIMIT_ABOVE},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct simulated s = {.capacity = cases[i].capacity};
		struct search_params params = calls;
		struct search_result r;

		params.min = cases[i].min;
		params.max = cases[i].max;
		params.width = cases[i].width;
		search(&s, &params, &r);
		if (!r.reached || r.limit != cases[i].limit)
			fail_msg("case %zu: limit %d, %g to %g", i,
				 (int)r.limit, r.lower, r.upper);
		if (r.has_lower)
			assert_true(r.lower <= cases[i].capacity);
		if (r.has_upper)
			assert_true(r.upper >= cases[i].capacity);
	}
}

/* Loads from 100 to 160 fail and 200 holds: what counts is 100. */
static void test_not_monotone(void **unused)
{
	static const struct search_params params = {.min = 50,
						    .max = 400,
						    .step = 1,
						    .width = WIDTH,
						    .repeats = 2,
						    .trials_max = 100};
	struct simulated s = {
		.capacity = 300, .band_low = 100, .band_high = 160};
	struct search *search;
	struct search_result r;
	struct search_next next;
	static const double known[] = {200, 200, 130, 130};

	(void)unused;
	assert_int_equal(search_new(&search, &params), 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(
			search_add(search,
				   &(struct search_trial){
					   .load = known[i],
					   .outcome = holds(&s, known[i])
							      ? SEARCH_HELD
							      : SEARCH_FAILED,
					   .cause = CAUSE}),
			0);
	while (search_next(search, &next))
		assert_int_equal(
			search_add(search,
				   &(struct search_trial){
					   .load = next.load,
					   .outcome = holds(&s, next.load)
							      ? SEARCH_HELD
							      : SEARCH_FAILED,
					   .cause = CAUSE}),
			0);
	search_result(search, &r);
	assert_true(r.reached && r.not_monotone);
	assert_true(r.lower <= 100 && r.upper >= 99);
	search_free(search);
}

/* A limit that is far softer than the width: no end, but an honest interval. */
static void test_too_soft(void **unused)
{
	struct simulated s = {.capacity = 100, .spread = 0.32};
	struct search_params params = rates;
	struct search_result r;

	(void)unused;
	params.trials_max = 30;
	assert_int_equal(search(&s, &params, &r), 30);
	assert_false(r.reached);
	assert_true(r.upper > 1.1 * r.lower);
}

static void test_chance_falls_with_the_load(void **unused)
{
	struct simulated s = {.capacity = 100};
	struct search *search;
	struct search_next next;
	double last = 1.1;

	(void)unused;
	assert_int_equal(search_new(&search, &calls), 0);
	while (search_next(search, &next))
		assert_int_equal(
			search_add(search,
				   &(struct search_trial){
					   .load = next.load,
					   .outcome = carry_out(&s, &next)}),
			0);
	for (double load = 1; load <= 1000; load *= 1.1) {
		double now = search_chance(search, load);

		assert_true(now >= 0 && now <= last);
		last = now;
	}
	assert_true(search_chance(search, 80) > 0.95);
	assert_true(search_chance(search, 125) < 0.05);
	search_free(search);
}

static void test_parameters_out_of_range(void **unused)
{
	struct search_params bad[] = {calls, calls, calls, calls,
				      calls, calls, calls, calls};
	struct search *search;

	(void)unused;
	bad[0].min = 0;
	bad[1].max = 1;
	bad[2].max = 2e6;
	bad[3].step = 0;
	bad[4].width = 0.001;
	bad[5].repeats = 0;
	bad[6].trials_max = 0;
	bad[7].trials_max = SEARCH_TRIALS_MAX + 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(search_new(&search, &bad[i]), -EINVAL);
	assert_int_equal(search_new(&search, &calls), 0);
	assert_int_equal(search_add(search, &(struct search_trial){.load = -1}),
			 -EINVAL);
	search_free(search);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharp_limit),
		cmocka_unit_test(test_soft_limit),
		cmocka_unit_test(test_slow_recovery),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_tester_is_disturbed),
		cmocka_unit_test(test_tester_saturates),
		cmocka_unit_test(test_lowest_load_fails),
		cmocka_unit_test(test_highest_load_holds),
		cmocka_unit_test(test_not_monotone),
		cmocka_unit_test(test_narrow_range),
		cmocka_unit_test(test_too_soft),
		cmocka_unit_test(test_chance_falls_with_the_load),
		cmocka_unit_test(test_parameters_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
