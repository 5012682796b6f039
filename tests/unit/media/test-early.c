/* Packets that arrive before their session is started, or after its end. */
#include "base/clock.h"
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

/* Count a packet each 20 ms, of 5 s before the start and one second after it. */
static void test_older_ones_are_in_no_rate(void **state)
{
	static struct rtp_payload_map map;
	const struct measure_command start = {
		.head.mono_ns = 100 * NS_PER_S,
		.codec = &codec_pcmu,
		.map = &map,
	};
	struct packet_record r = {.kind = PACKET_RTP_RECEIVED,
				  .mono_ns = 95 * NS_PER_S,
				  .header_bytes = 12,
				  .payload_bytes = 160};
	struct packet_record early[EARLY_PACKETS_MAX];
	struct stream_second n;
	size_t kept;

	(void)state;
	receive(0);
	for (; r.seq < 250; r.seq++, r.mono_ns += 20 * NS_PER_MS)
		measure_session_early(&session, &r);
	kept = measure_session_start(&session, &start, early);
	assert_int_equal(kept, 45); /* 0.9 s */
	for (size_t i = 0; i < kept; i++)
		measure_session_received(&session, &early[i]);
	for (; r.mono_ns < session.second_ns + NS_PER_S; r.seq++) {
		measure_session_received(&session, &r);
		r.mono_ns += 20 * NS_PER_MS;
	}
	measure_session_close_in(&session, r.mono_ns, &n);
	assert_int_equal(n.packets, 205 + 50);
	assert_int_equal(n.outside_packets, 205);
	assert_int_equal(n.outside_bytes, 205 * 172);
	measure_session_received(&session, &r);
	measure_session_close_in(&session, r.mono_ns + NS_PER_S, &n);
	assert_int_equal(n.packets, 1);
	assert_int_equal(n.outside_packets, 0);
}

static void test_later_ones_are_in_no_rate(void **state)
{
	struct packet_record r = {.header_bytes = 12, .payload_bytes = 160};
	struct stream_second n;

	(void)state;
	receive(0);
	measure_session_never(&session);
	session.state = ANALYSIS_STOPPING;
	session.stop_ns = NS_PER_S;
	for (int i = -5; i < 10; i++) {
		r.mono_ns = session.stop_ns + i;
		measure_session_late(&session, &r, false);
		measure_session_received(&session, &r);
		measure_session_late(&session, &r, true);
		rtp_sender_update(&session.sender, &r);
	}
	measure_session_close_in(&session, session.stop_ns, &n);
	assert_int_equal(n.packets, 15);
	assert_int_equal(n.outside_packets, 10);
	assert_int_equal(n.outside_bytes, 10 * 172);
	measure_session_close_out(&session, session.stop_ns, &n);
	assert_int_equal(n.packets, 15);
	assert_int_equal(n.outside_packets, 10);
	assert_int_equal(n.outside_bytes, 10 * 172);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_is_dropped_and_counted),
		cmocka_unit_test(test_the_start_hands_them_over),
		cmocka_unit_test(test_older_ones_are_in_no_rate),
		cmocka_unit_test(test_later_ones_are_in_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
