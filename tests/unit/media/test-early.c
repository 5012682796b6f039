/* Packets that arrive before their session is started. */
#include "media/measure/measure_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct measure_session session;
static struct measure_seldom seldom;

static void receive(uint16_t count)
{
	struct packet_record r = {.kind = PACKET_RTP_RECEIVED,
				  .mono_ns = 1,
				  .header_bytes = 12,
				  .payload_bytes = 160};

	memset(&session, 0, sizeof(session));
	session.seldom = &seldom;
	for (uint16_t i = 0; i < count; i++) {
		r.seq = i;
		measure_session_early(&session, &r);
	}
}

static void test_the_oldest_is_dropped_and_counted(void **state)
{
	(void)state;
	receive(EARLY_PACKETS_MAX + 3);
	assert_int_equal(session.early_count, EARLY_PACKETS_MAX);
	assert_int_equal(seldom.early[0].seq, 3);
	assert_int_equal(seldom.early[EARLY_PACKETS_MAX - 1].seq,
			 EARLY_PACKETS_MAX + 2);
	assert_int_equal(session.stray_packets, 3);
	assert_int_equal(session.stray_bytes, 3 * 172);
}

/* The start copies the kept packets: the first stream uses their memory then. */
static void test_the_start_hands_them_over(void **state)
{
	static struct rtp_payload_map map;
	const struct measure_command start = {
		.head.mono_ns = 2,
		.codec = &codec_pcmu,
		.map = &map,
	};
	struct packet_record early[EARLY_PACKETS_MAX];

	(void)state;
	receive(EARLY_PACKETS_MAX);
	assert_int_equal(measure_session_start(&session, &start, early),
			 EARLY_PACKETS_MAX);
	memset(&seldom.first_rest, 0xa5, sizeof(seldom.first_rest));
	for (uint16_t i = 0; i < EARLY_PACKETS_MAX; i++)
		assert_int_equal(early[i].seq, i);
	assert_int_equal(session.second_ns, 1);
	assert_int_equal(session.early_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_is_dropped_and_counted),
		cmocka_unit_test(test_the_start_hands_them_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
