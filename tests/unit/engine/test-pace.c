/*
 * Start times of calls, compared with the integral of the rate; and those of engines
 * that share a job, compared with the undivided schedule.
 */
#include "agent/engine/job/call_starts.h"

#include "base/clock.h"
#include "control/wire/share.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	double rate;
	uint32_t ramp_s;
} rows[] = {{10, 5},  {1, 10},    {0.1, 3}, {0.001, 86400}, {1000, 1},
	    {7.5, 2}, {3, 86400}, {4, 0},   {333.33, 0}};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Number of calls that are due until time t; the first is due at 0. */
static double due_until(double t, double rate, double ramp)
{
	if (t <= ramp && ramp > 0)
		return rate * t * t / (2 * ramp);
	return rate * ramp / 2 + rate * (t - ramp);
}

static void test_pace_without_ramp_is_even(void **state)
{
	(void)state;
	assert_int_equal(call_starts_due_ns(0, 4, 0), 0);
	assert_int_equal(call_starts_due_ns(1, 4, 0), NS_PER_S / 4);
	assert_int_equal(call_starts_due_ns(2, 0.5, 0), 4 * NS_PER_S);
	assert_int_equal(call_starts_due_ns(1000, 1000, 0), NS_PER_S);
}

static void test_pace_follows_the_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		int64_t at = 0, gap = INT64_MAX - 2;

		for (int n = 1; n <= 3000; n++) {
			int64_t next = call_starts_due_ns(n, rows[i].rate,
							  rows[i].ramp_s);
			double due = due_until((double)next / (double)NS_PER_S,
					       rows[i].rate, rows[i].ramp_s);

			assert_true(next > at);
			/*
			 * never faster than before, and never above the ceiling
			 */
			assert_true(next - at <= gap + 2);
			assert_true((double)(next - at) >=
				    (double)NS_PER_S / rows[i].rate - 2);
			assert_true(due > n - 1e-3 && due < n + 1e-3);
			gap = next - at;
			at = next;
		}
	}
}

/* A generator that was delayed continues from a time between two calls. */
static void test_pace_from_any_moment(void **state)
{
	double from = call_starts_number(3 * NS_PER_S, 2, 10);
	int64_t next = call_starts_due_ns(from + 1, 2, 10);

	(void)state;
	assert_true(from > due_until(3, 2, 10) - 1e-9 &&
		    from < due_until(3, 2, 10) + 1e-9);
	assert_true(due_until((double)next / (double)NS_PER_S, 2, 10) >
		    from + 1 - 1e-6);
	assert_true(due_until((double)next / (double)NS_PER_S, 2, 10) <
		    from + 1 + 1e-6);
	from = call_starts_number(10 * NS_PER_S, 2, 10);
	assert_int_equal(call_starts_due_ns(from + 1, 2, 10),
			 10 * NS_PER_S + NS_PER_S / 2);
}

static void test_pace_number_is_the_inverse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		for (int n = 0; n <= 3000; n++) {
			int64_t at = call_starts_due_ns(n, rows[i].rate,
							rows[i].ramp_s);
			double number = call_starts_number(at, rows[i].rate,
							   rows[i].ramp_s);

			assert_true(number > n - 1e-5 && number < n + 1e-5);
		}
	}
}

/* ---- engines that share a job ---- */

#define CALLS 1000

/* Each call of the undivided schedule is placed by one engine, at its time. */
static void test_shares_are_the_undivided_schedule(void **state)
{
	static const uint32_t engines[] = {1, 2, 4};

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t e = 0; e < 3; e++) {
			uint32_t placed_by[CALLS] = {0};

			for (uint32_t k = 0; k < engines[e]; k++) {
				const struct wire_share s = {k, engines[e]};
				uint32_t own = wire_share_count(&s, CALLS);
				double schedule = k;

				for (uint32_t j = 0; j < own; j++) {
					uint32_t n = wire_share_number(&s, j);

					assert_true(n < CALLS);
					placed_by[n]++;
					assert_int_equal(
						call_starts_due_ns(
							schedule, rows[i].rate,
							rows[i].ramp_s),
						call_starts_due_ns(
							n, rows[i].rate,
							rows[i].ramp_s));
					schedule += s.of;
				}
			}
			for (uint32_t n = 0; n < CALLS; n++)
				assert_int_equal(placed_by[n], 1);
		}
	}
}

/* The parts of a limit add up to it, and differ by one at most. */
static void test_shares_add_up(void **state)
{
	(void)state;
	for (uint32_t of = 1; of <= WIRE_ENGINES_MAX; of++) {
		for (uint32_t total = 0; total <= 50; total++) {
			uint32_t sum = 0;

			for (uint32_t k = 0; k < of; k++) {
				const struct wire_share s = {k, of};
				uint32_t own = wire_share_count(&s, total);

				assert_in_range(own, total / of,
						total / of + 1);
				sum += own;
				if (own > 0)
					assert_true(
						wire_share_number(&s, own - 1) <
						total);
				assert_true(wire_share_number(&s, own) >=
					    total);
			}
			assert_int_equal(sum, total);
		}
	}
}

/* Each shard is divided over engines: every call number belongs to one engine only, which is an
 * engine of the shard that the number belongs to. */
static void test_shares_of_shares(void **state)
{
	(void)state;
	for (uint32_t shards = 1; shards <= WIRE_SHARDS_MAX; shards++) {
		for (uint32_t of = 1; of <= WIRE_ENGINES_MAX; of++) {
			uint32_t had_by[CALLS] = {0};

			for (uint32_t i = 0; i < shards * of; i++) {
				const struct wire_share shard = {i / of,
								 shards};
				const struct wire_share engine = {i % of, of};
				const struct wire_share s =
					wire_share_within(&shard, &engine);
				uint32_t own = wire_share_count(&s, CALLS);

				for (uint32_t j = 0; j < own; j++) {
					uint32_t n = wire_share_number(&s, j);

					assert_int_equal(n % shards,
							 shard.index);
					had_by[n]++;
				}
			}
			for (uint32_t n = 0; n < CALLS; n++)
				assert_int_equal(had_by[n], 1);
		}
	}
}

static void test_agents_on_the_wire(void **state)
{
	static const struct {
		const char *text;
		uint32_t least, most; /* 0: refused */
	} values[] = {
		{"1", 1, 1},        {"8", 8, 8},         {"\"3\"", 3, 3},
		{"\"2-8\"", 2, 8},  {"\"4-4\"", 4, 4},   {"0", 0, 0},
		{"9", 0, 0},        {"-1", 0, 0},        {"2.5", 0, 0},
		{"\"\"", 0, 0},     {"\"9\"", 0, 0},     {"\"3-2\"", 0, 0},
		{"\"2-9\"", 0, 0},  {"\"0-2\"", 0, 0},   {"\"2-\"", 0, 0},
		{"\"-2\"", 0, 0},   {"\"2-3-4\"", 0, 0}, {"\"2 - 3\"", 0, 0},
		{"\"0002\"", 0, 0}, {"[2, 3]", 0, 0},    {"true", 0, 0},
		{"\"1e1\"", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		json_t *value =
			json_loads(values[i].text, JSON_DECODE_ANY, NULL);
		struct wire_agents got = {77, 78};
		int err = wire_agents_parse(&got, value);

		assert_int_equal(err, values[i].most ? 0 : -EINVAL);
		assert_int_equal(got.least, err ? 77 : values[i].least);
		assert_int_equal(got.most, err ? 78 : values[i].most);
		json_decref(value);
	}
}

static int decode(const char *text, struct wire_share *ret)
{
	json_t *object = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	int err = wire_share_decode(ret, object, WIRE_ENGINES_MAX);

	json_decref(object);
	return err;
}

static void test_share_on_the_wire(void **state)
{
	static const char *const refused[] = {
		"{}",
		"{\"index\": 0}",
		"{\"of\": 2}",
		"{\"index\": 2, \"of\": 2}",
		"{\"index\": -1, \"of\": 2}",
		"{\"index\": 0, \"of\": 0}",
		"{\"index\": 0, \"of\": 9}",
		"{\"index\": 0.5, \"of\": 2}",
		"[0, 2]",
		"2",
	};
	const struct wire_share sent = {.index = 2, .of = 3};
	struct wire_share got = {.index = 7, .of = 8};
	json_t *object = wire_share_encode(&sent);

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_true(decode(refused[i], &got) < 0);
		assert_int_equal(got.index, 7);
	}
	assert_int_equal(wire_share_decode(&got, object, WIRE_ENGINES_MAX), 0);
	assert_int_equal(got.index, 2);
	assert_int_equal(got.of, 3);
	assert_true(wire_share_divided(&got));
	assert_int_equal(decode(NULL, &got), 0);
	assert_int_equal(got.index, 0);
	assert_int_equal(got.of, 1);
	assert_false(wire_share_divided(&got));
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace_without_ramp_is_even),
		cmocka_unit_test(test_pace_follows_the_rate),
		cmocka_unit_test(test_pace_from_any_moment),
		cmocka_unit_test(test_pace_number_is_the_inverse),
		cmocka_unit_test(test_shares_are_the_undivided_schedule),
		cmocka_unit_test(test_shares_add_up),
		cmocka_unit_test(test_shares_of_shares),
		cmocka_unit_test(test_agents_on_the_wire),
		cmocka_unit_test(test_share_on_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
