#include "capture/reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static struct samples_budget budget;

static void put32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* A sender report of SSRC 1, sent at NTP time 0x10000 (in 1/65536 s). */
static void sender_report(struct reports *r, int64_t ns)
{
	uint8_t data[28] = {0x80, 200, 0, 6, [7] = 1, [11] = 1};

	reports_take(r, data, sizeof(data), ns);
}

/* A report block about it, at once. */
static void receiver_report(struct reports *r, uint32_t reporter, int64_t ns)
{
	uint8_t data[32] = {0x81, 201, 0, 7, [11] = 1};

	put32(data + 4, reporter);
	put32(data + 24, 0x10000); /* LSR */
	reports_take(r, data, sizeof(data), ns);
}

static void count(uint32_t ssrc, const struct distribution *rtt, void *arg)
{
	(void)ssrc;
	assert_int_equal(rtt->n, 1);
	++*(unsigned *)arg;
}

static void test_reporters_above_the_ceiling_are_counted(void **state)
{
	struct capture_counters counters = {0};
	struct reports r;
	unsigned reporters = 0;

	(void)state;
	budget.left = 1 << 20;
	reports_init(&r, true, &budget);
	sender_report(&r, NS_PER_S);
	for (uint32_t i = 0; i < CAPTURE_REPORTERS_MAX + 3; i++)
		receiver_report(&r, 1000 + i, NS_PER_S + 20 * NS_PER_MS);
	reports_walk(&r, count, &reporters);
	reports_count(&r, &counters);
	assert_int_equal(reporters, CAPTURE_REPORTERS_MAX);
	assert_int_equal(counters.reporters_left_out, 3);
	reports_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reporters_above_the_ceiling_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
