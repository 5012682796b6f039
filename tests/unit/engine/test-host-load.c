#include "agent/engine/host_load.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_stat_of_a_virtual_machine(void **state)
{
	struct host_load_sample s = {0};

	(void)state;
	host_load_parse_stat("cpu  100 20 30 400 5 6 7 8 90 10\ncpu0 1 1\n",
			     &s);
	assert_int_equal(s.known, HOST_LOAD_STEAL);
	/* guest time, 90 and 10, is part of user and nice */
	assert_int_equal(s.host_ticks, 576);
	assert_int_equal(s.steal_ticks, 8);
}

static void test_stat_of_an_old_kernel_is_unknown(void **state)
{
	struct host_load_sample s = {0};

	(void)state;
	host_load_parse_stat("cpu  100 20 30 400\n", &s);
	host_load_parse_stat("", &s);
	host_load_parse_stat("intr 1 2 3 4 5 6 7 8\n", &s);
	assert_int_equal(s.known, 0);
}

static void test_groups_add_up(void **state)
{
	struct host_load_sample s = {0};

	(void)state;
	host_load_parse_group("usage_usec 9\nuser_usec 5\nnr_periods 7\n"
			      "nr_throttled 3\nthrottled_usec 1500\n",
			      &s);
	host_load_parse_group("nr_periods 9\nnr_throttled 2\n"
			      "throttled_time 250000\nnr_bursts 0\n",
			      &s);
	assert_int_equal(s.known, HOST_LOAD_THROTTLED);
	assert_int_equal(s.throttled, 5);
	assert_int_equal(s.throttled_ns, 1750 * NS_PER_US);
}

static void test_root_group_has_no_quota(void **state)
{
	struct host_load_sample s = {0};

	(void)state;
	host_load_parse_group("usage_usec 9\nuser_usec 5\nsystem_usec 4\n", &s);
	assert_int_equal(s.known, 0);
}

static void test_schedstat(void **state)
{
	struct host_load_sample s = {0};

	(void)state;
	host_load_parse_schedstat("0\n", &s);
	assert_int_equal(s.known, 0);
	host_load_parse_schedstat("123456 789 12\n", &s);
	assert_int_equal(s.known, HOST_LOAD_WAIT);
	assert_int_equal(s.loop_wait_ns, 789);
}

/* This process: what it used grows by what it uses. */
static void test_own_counters(void **state)
{
	struct host_load_sample before, after;
	struct host_load h;

	(void)state;
	host_load_open(&h);
	host_load_read(&h, &before);
	do {
		host_load_read(&h, &after);
	} while (after.processor_ns - before.processor_ns < 20 * NS_PER_MS);
	assert_int_equal(before.known, after.known);
	assert_true(after.known & HOST_LOAD_STEAL);
	assert_true(after.host_ticks > before.host_ticks);
	assert_true(after.steal_ticks >= before.steal_ticks);
	assert_true(after.throttled >= before.throttled);
	assert_true(after.mono_ns > before.mono_ns);
	host_load_close(&h);
	assert_int_equal(h.stat_fd, -1);
	assert_int_equal(h.groups, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_of_a_virtual_machine),
		cmocka_unit_test(test_stat_of_an_old_kernel_is_unknown),
		cmocka_unit_test(test_groups_add_up),
		cmocka_unit_test(test_root_group_has_no_quota),
		cmocka_unit_test(test_schedstat),
		cmocka_unit_test(test_own_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
