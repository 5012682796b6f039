/*
 * The controller's clock, as its answers tell it: simulated round trips against the clock that
 * wrote them.
 */
#include "agent/supervisor/controller_clock.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define OFFSET_NS INT64_C(1700000000123456789)

/* What the controller's clock shows at a monotonic time, in milliseconds rounded down. */
static int64_t server_us(int64_t mono_ns)
{
	return (mono_ns + OFFSET_NS) / NS_PER_MS * 1000;
}

static void assert_within(const struct controller_clock *c, int64_t at_ns)
{
	assert_true(llabs(c->offset_ns - OFFSET_NS) <=
		    controller_clock_error_ns(c, at_ns));
}

/* However the time is divided over the way there, the work and the way back. */
static void test_clock_is_within_its_error(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct controller_clock c = {.known = false};
		int64_t sent_ns, there_ns, back_ns;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		sent_ns = (int64_t)(seed >> 24);
		there_ns = (int64_t)(seed >> 40) % (50 * NS_PER_MS);
		back_ns = (int64_t)(seed >> 36) % (50 * NS_PER_MS);
		controller_clock_read(&c, sent_ns, sent_ns + there_ns + back_ns,
				      server_us(sent_ns + there_ns), 0);
		assert_true(c.known);
		assert_within(&c, sent_ns);
		assert_true(c.error_ns <=
			    (there_ns + back_ns) / 2 + NS_PER_MS / 2);
	}
}

/* A shorter round trip is better; a longer one only when the other is old. */
static void test_clock_keeps_the_better_reading(void **state)
{
	struct controller_clock c = {.known = false};
	int64_t good_ns;

	(void)state;
	controller_clock_read(&c, 0, 100 * NS_PER_MS, server_us(0), 0);
	controller_clock_read(&c, NS_PER_S, NS_PER_S + 2 * NS_PER_MS,
			      server_us(NS_PER_S), 0);
	good_ns = c.error_ns;
	assert_int_equal(good_ns, NS_PER_MS + NS_PER_MS / 2);
	controller_clock_read(&c, 2 * NS_PER_S, 2 * NS_PER_S + 40 * NS_PER_MS,
			      server_us(2 * NS_PER_S), 0);
	assert_int_equal(c.error_ns, good_ns);
	/* ten minutes at 100 us a second */
	assert_int_equal(
		controller_clock_error_ns(&c, 601 * NS_PER_S + NS_PER_MS),
		good_ns + 60 * NS_PER_MS);
	assert_int_equal(controller_clock_error_ns(&c, NS_PER_MS),
			 good_ns + NS_PER_S / 10000);
	controller_clock_read(&c, 601 * NS_PER_S,
			      601 * NS_PER_S + 40 * NS_PER_MS,
			      server_us(601 * NS_PER_S), 0);
	assert_int_equal(c.error_ns, 20 * NS_PER_MS + NS_PER_MS / 2);
}

/* Of several controllers the one that knows their clock best counts. */
static void test_clock_has_the_error_of_the_controller(void **state)
{
	struct controller_clock c = {.known = false};

	(void)state;
	controller_clock_read(&c, 0, 2 * NS_PER_MS, server_us(0), 5000);
	assert_int_equal(c.error_ns, 6 * NS_PER_MS + NS_PER_MS / 2);
	controller_clock_read(&c, NS_PER_MS, 5 * NS_PER_MS,
			      server_us(NS_PER_MS), 0);
	assert_int_equal(c.error_ns, 2 * NS_PER_MS + NS_PER_MS / 2);
	controller_clock_read(&c, 6 * NS_PER_MS, 6 * NS_PER_MS,
			      server_us(6 * NS_PER_MS), 3000);
	assert_int_equal(c.error_ns, 2 * NS_PER_MS + NS_PER_MS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_is_within_its_error),
		cmocka_unit_test(test_clock_keeps_the_better_reading),
		cmocka_unit_test(test_clock_has_the_error_of_the_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
