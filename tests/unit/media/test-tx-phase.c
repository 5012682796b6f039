/* Sessions are spread over the packet time, and each starts soon. */
#include "media/tx/tx_phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS    INT64_C(1000000)
#define CALLS 500

static uint32_t fullest(const struct tx_phases *p)
{
	uint32_t most = 0;

	for (size_t i = 0; i < TX_PHASES; i++)
		most = p->packets[i] > most ? p->packets[i] : most;
	return most;
}

static void test_phase_alone_begins_at_once(void **state)
{
	struct tx_phases p = {0};

	(void)state;
	for (int64_t start = 7 * MS; start < 9 * MS; start += 1000) {
		struct tx_phase phase = {0};
		int64_t at = tx_phase_take(&p, &phase, start, 20);

		assert_true(at >= start && at < start + TX_PHASE_NS);
		assert_int_equal(at % TX_PHASE_NS, 0);
		tx_phase_leave(&p, &phase);
		assert_int_equal(p.total, 0);
	}
	assert_int_equal(fullest(&p), 0);
}

/*
 * 50 calls a second would all start at the same offset of the packet time: they
 * are spread.
 */
static void test_phase_calls_in_step_are_spread(void **state)
{
	static struct tx_phase phases[CALLS];
	struct tx_phases p = {0};

	(void)state;
	memset(phases, 0, sizeof(phases));
	for (int i = 0; i < CALLS; i++) {
		int64_t start = 3 * MS + i * 20 * MS;
		int64_t at = tx_phase_take(&p, &phases[i], start, 20);

		assert_true(at >= start && at < start + TX_PERIOD_NS);
		assert_int_equal(at / TX_PHASE_NS % TX_PHASES, phases[i].at);
		/* the first few do not wait long */
		assert_true(i >= 10 || at < start + 11 * TX_PHASE_NS);
	}
	assert_int_equal(p.total, CALLS);
	assert_true(fullest(&p) <= CALLS / TX_PHASES + 1);
	/* sessions that end free their offset */
	for (int i = 0; i < CALLS; i += 2)
		tx_phase_leave(&p, &phases[i]);
	for (int i = 0; i < CALLS; i += 2)
		tx_phase_take(&p, &phases[i], 3 * MS, 20);
	assert_true(fullest(&p) <= CALLS / TX_PHASES + 2);
	for (int i = 0; i < CALLS; i++)
		tx_phase_leave(&p, &phases[i]);
	tx_phase_leave(&p, &phases[0]); /* it has no phase any more */
	assert_int_equal(p.total, 0);
	assert_int_equal(fullest(&p), 0);
}

static void test_phase_of_other_packet_times(void **state)
{
	static const uint16_t ptimes[] = {10, 30, 40, 60, 20};
	static struct tx_phase phases[CALLS];
	struct tx_phases p = {0};

	(void)state;
	memset(phases, 0, sizeof(phases));
	for (int i = 0; i < CALLS; i++) {
		tx_phase_take(&p, &phases[i], 0, ptimes[i % 5]);
		assert_int_equal(phases[i].twice, i % 5 < 2);
	}
	assert_int_equal(p.total, CALLS + 2 * CALLS / 5);
	assert_true(fullest(&p) <= p.total / TX_PHASES + 2);
	for (int i = 0; i < CALLS; i++)
		tx_phase_leave(&p, &phases[i]);
	assert_int_equal(p.total, 0);
	assert_int_equal(fullest(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phase_alone_begins_at_once),
		cmocka_unit_test(test_phase_calls_in_step_are_spread),
		cmocka_unit_test(test_phase_of_other_packet_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
