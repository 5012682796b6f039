/* Packets that arrive before their session is started. */
#include "media/measure/measure_session.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct measure_session session;
static struct measure_seldom seldom;

static void test_the_oldest_is_dropped_and_counted(void **state)
{
	struct packet_record r = {.kind = PACKET_RTP_RECEIVED,
				  .header_bytes = 12,
				  .payload_bytes = 160};

	(void)state;
	session.seldom = &seldom;
	for (uint16_t i = 0; i < EARLY_PACKETS_MAX + 3; i++) {
		r.seq = i;
		measure_session_early(&session, &r);
	}
	assert_int_equal(session.early_count, EARLY_PACKETS_MAX);
	assert_int_equal(seldom.early[0].seq, 3);
	assert_int_equal(seldom.early[EARLY_PACKETS_MAX - 1].seq,
			 EARLY_PACKETS_MAX + 2);
	assert_int_equal(session.stray_packets, 3);
	assert_int_equal(session.stray_bytes, 3 * 172);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_is_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
