#include "media/analysis/stream.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/random.h"

#define S INT64_C(1000000000)

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("got %.12g, expected %.12g", got, want);
}

static struct rtp_payload_map map;
static struct rtp_stream stream;
static struct rtp_rest rest;
static struct rtp_sender sender;
static struct rtp_rest sender_rest;

static int setup(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	assert_int_equal(rtp_payload_map_add(&map, 0, "PCMU", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&map, 8, "PCMA", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&map, 13, "CN", 8000), 0);
	assert_int_equal(
		rtp_payload_map_add(&map, 101, "telephone-event", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&map, 111, "opus", 48000), 0);
	rtp_stream_init(&stream, 7, 0, &map, &rest);
	return 0;
}

static struct packet_record packet(uint16_t seq, int64_t ns, uint32_t ts)
{
	return (struct packet_record){.mono_ns = ns,
				      .rtp_ts = ts,
				      .ssrc = 7,
				      .seq = seq,
				      .payload_bytes = 160,
				      .header_bytes = 12};
}

static void take(uint16_t seq, int64_t ms, uint32_t ts, uint8_t pt)
{
	struct packet_record r = packet(seq, ms * 1000000, ts);

	r.marker_pt = pt;
	rtp_stream_update(&stream, &r);
}

static void test_map_refuses(void **state)
{
	(void)state;
	assert_int_equal(rtp_payload_map_add(&map, 0, "GSM", 8000), -EEXIST);
	assert_int_equal(rtp_payload_map_add(&map, 128, "X", 8000), -EINVAL);
	for (uint8_t pt = 20; map.count < RTP_PAYLOADS_MAX; pt++)
		rtp_payload_map_add(&map, pt, "a-name-longer-than-the-field",
				    8000);
	assert_int_equal(rtp_payload_map_add(&map, 19, "X", 8000), -ENOSPC);
	assert_int_equal(strlen(map.entries[map.count - 1].codec), 15);
}

/*
 * J after the packets so far.
 * @return false: there is no sample yet
 */
static bool latest_jitter(double *ret)
{
	rtp_stream_end_run(&stream);
	*ret = stream.timing.jitter_ms;
	return stream.timing.samples > 0;
}

/* RFC 3550 A.8 by hand: D 0, 16, 16: J 1, 1.9375 */
static void test_jitter_by_hand(void **state)
{
	double j;

	(void)state;
	take(1, 0, 0, 0);
	assert_false(latest_jitter(&j));
	take(2, 20, 160, 0);
	assert_true(latest_jitter(&j));
	near(j, 0, 0);
	take(3, 56, 320, 0);
	latest_jitter(&j);
	near(j, 1.0, 1e-12);
	take(4, 60, 480, 0);
	latest_jitter(&j);
	near(j, 1.0 + (16.0 - 1.0) / 16, 1e-12);
}

/* The same wherever the timestamp wraps. */
static void test_jitter_across_timestamp_wrap(void **state)
{
	double want = 0;

	(void)state;
	for (uint32_t first = 0; first < 4000; first += 7) {
		double j;

		rtp_stream_init(&stream, 7, 0, &map, &rest);
		for (uint16_t i = 0; i < 20; i++)
			take((uint16_t)(65530 + i), i * 20 + (i * 7) % 5,
			     0u - first + i * 160u, 0);
		latest_jitter(&j);
		if (first == 0)
			want = j;
		near(j, want, 1e-12);
		assert_true(rtp_timing_jitter_ticks(&stream.timing) > 0);
	}
}

static void test_events_and_noise_give_no_jitter(void **state)
{
	double j;

	(void)state;
	take(1, 0, 0, 0);
	take(2, 20, 160, 0);
	for (uint16_t i = 0; i < 10; i++) /* frozen timestamp */
		take((uint16_t)(3 + i), 40 + 20 * i, 320, 101);
	take(13, 230, 1920, 13);
	take(14, 260, 2080, 0);
	assert_true(latest_jitter(&j));
	near(j, 0, 1e-12);
	assert_int_equal(stream.te_packets, 10);
	assert_int_equal(stream.cn_packets, 1);
}

static void test_unknown_payload_type_gives_no_jitter(void **state)
{
	double j;

	(void)state;
	take(1, 0, 0, 77);
	take(2, 20, 160, 77);
	assert_false(latest_jitter(&j));
	assert_int_equal(stream.unknown_pt_packets, 2);
	/* the answer names the codec of the payload type */
	rtp_payload_map_add(&map, 77, "L16", 8000);
	rtp_stream_set_map(&stream, &map);
	take(3, 40, 320, 77);
	take(4, 60, 480, 77);
	assert_true(latest_jitter(&j));
}

static void test_clock_change_keeps_no_reference(void **state)
{
	double j;

	(void)state;
	take(1, 0, 0, 0);
	take(2, 20, 160, 0);
	take(3, 40, 900000, 111);
	take(4, 60, 900960, 111);
	latest_jitter(&j);
	near(j, 0, 1e-12);
	assert_int_equal(stream.timing.clock_changes, 1);
	assert_int_equal(stream.timing.discontinuities, 0);
}

static void test_stall_is_jitter_pause_is_not(void **state)
{
	double j;

	(void)state;
	take(1, 0, 0, 0);
	take(2, 20, 160, 0);
	take(3, 1540, 320, 0); /* delayed by the network */
	latest_jitter(&j);
	near(j, 1500.0 / 16, 1e-9);
	take(4, 1560, 480, 0);
	take(5, 4560, 640, 0x80); /* hold: marker, the timestamp stood still */
	assert_int_equal(stream.timing.discontinuities, 1);
	take(6, 4580, 1000000, 0);     /* the sender's timestamp jumps */
	rtp_stream_validated(&stream); /* ends the run */
	assert_int_equal(stream.timing.discontinuities, 2);
}

static void test_silent_second_knows_nothing(void **state)
{
	struct stream_second n;

	(void)state;
	for (uint16_t i = 0; i < 50; i++)
		take(i, i * 20, i * 160u, 0);
	rtp_stream_close_second(&stream, S, &n);
	assert_int_equal(n.packets, 50);
	assert_int_equal(n.bytes, 50 * 172);
	assert_true(n.has_loss && n.has_jitter && n.has_mos && !n.has_rtt);
	near(n.mos, 4.409406, 1e-6);
	rtp_stream_close_second(&stream, 2 * S, &n);
	assert_int_equal(n.start_ns, S);
	assert_int_equal(n.duration_ns, S);
	assert_int_equal(n.packets, 0);
	assert_false(n.has_loss || n.has_jitter || n.has_mos || n.has_rtt);
	/* the loss shows at the next packet */
	take(100, 2000, 16000, 0);
	rtp_stream_add_rtt(&stream, 35.5);
	rtp_stream_close_second(&stream, 3 * S, &n);
	assert_true(n.has_loss && n.has_rtt);
	near(n.rtt_ms, 35.5, 0);
	assert_int_equal(n.expected, 51);
	assert_int_equal(n.lost, 50);
	assert_true(n.has_mos);
}

/* For any traffic the seconds sum to the stream. */
static void test_seconds_sum_to_the_stream(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct stream_second n;
		struct stream_total total;
		uint64_t packets = 0;
		uint64_t bytes = 0;
		uint64_t duplicates = 0;
		int64_t lost = 0;
		int64_t expected = 0;
		uint32_t at = 60000;
		int64_t end = S;

		rtp_stream_init(&stream, 7, 0, &map, &rest);
		for (int64_t i = 0; i < 500; i++) {
			uint32_t kind = random_below(&seed, 50);
			uint32_t k = at;

			while (i * 20000000 >= end) {
				rtp_stream_close_second(&stream, end, &n);
				/* of any length, some without packets */
				end += (1 + random_below(&seed, 150)) * S / 100;
				packets += n.packets;
				bytes += n.bytes;
				duplicates += n.duplicates;
				lost += n.lost;
				expected += (int64_t)n.expected;
			}
			if (kind < 40)
				k = ++at;
			else if (kind < 45)
				k = at - random_below(&seed, 90);
			else if (kind < 49)
				k = at += random_below(&seed, 100);
			else
				k = at += random_below(&seed, 65536);
			take((uint16_t)k, i * 20, k * 160, 0);
		}
		rtp_stream_close_second(&stream, end, &n);
		rtp_stream_total(&stream, &total);
		assert_int_equal(packets + n.packets, total.packets);
		assert_int_equal(bytes + n.bytes, total.bytes);
		assert_int_equal(duplicates + n.duplicates, total.duplicates);
		assert_int_equal(lost + n.lost, total.lost);
		assert_int_equal(expected + (int64_t)n.expected,
				 total.expected);
		assert_int_equal(total.packets, total.received +
							total.duplicates +
							total.stray);
		assert_true(total.lost >= 0);
	}
}

static void test_total_of_nothing(void **state)
{
	struct stream_total total;

	(void)state;
	rtp_stream_total(&stream, &total);
	assert_false(total.has_loss || total.has_score);
	assert_non_null(total.no_score_reason);
	near(total.burst_ratio, 1, 0);
	assert_int_equal(total.jitter_ms.n, 0);
	assert_false(rtp_stream_validated(&stream));
}

static void test_report_block(void **state)
{
	struct rtcp_report b;

	(void)state;
	take(10, 0, 0, 0);
	assert_false(rtp_stream_report(&stream, &b));
	take(11, 20, 160, 0);
	take(13, 60, 480, 0);
	assert_true(rtp_stream_report(&stream, &b));
	assert_int_equal(b.ssrc, 7);
	assert_int_equal(b.fraction_lost, 256 / 3);
	assert_int_equal(b.lost, 1);
	assert_int_equal(b.ext_max, 13);
}

static void send_packets(uint16_t *seq, int count)
{
	while (count-- > 0) {
		struct packet_record r = packet((*seq)++, 0, 0);

		r.kind = PACKET_RTP_SENT;
		rtp_sender_update(&sender, &r);
	}
}

static void test_sender_by_reports(void **state)
{
	struct rtcp_report b = {.ssrc = 9, .jitter_ticks = 80};
	struct stream_second n;
	struct stream_total total;
	uint16_t seq = 65500;
	double ms;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	send_packets(&seq, 50);
	rtp_sender_close_second(&sender, S, &n);
	assert_int_equal(n.packets, 50);
	assert_false(n.has_loss || n.has_jitter || n.has_rtt || n.has_mos);
	rtp_sender_total(&sender, &total);
	assert_false(total.has_loss || total.has_score);
	/* 48 expected, 2 lost; the sequence number wrapped */
	b.ext_max = 65536 + 11;
	b.lost = 2;
	b.lsr = 0x10000;
	b.dlsr = 0x8000;
	assert_true(rtp_sender_report(&sender, 3, &b, 0, 0x18666, &ms));
	near(ms, 1000.0 * 0x666 / 65536, 1e-5);
	rtp_sender_close_second(&sender, 2 * S, &n);
	assert_int_equal(n.packets, 0);
	assert_true(n.has_loss && n.has_jitter && n.has_rtt && n.has_mos);
	assert_int_equal(n.expected, 48);
	assert_int_equal(n.lost, 2);
	near(n.jitter_ms, 10, 1e-9);
	/* impossible: a sequence number never sent; another stream */
	b.ext_max = 65536 + 5000;
	assert_false(rtp_sender_report(&sender, 3, &b, 0, 0x18666, &ms));
	b.ext_max = 65536 + 12;
	b.ssrc = 10;
	assert_false(rtp_sender_report(&sender, 3, &b, 0, 0x18666, &ms));
	assert_int_equal(sender.invalid_reports, 2);
	rtp_sender_total(&sender, &total);
	assert_true(total.has_loss && total.has_score);
	near(total.loss_pct, 100.0 * 2 / 48, 1e-9);
	assert_int_equal(total.received, 46);
	assert_int_equal(total.rtt_ms.n, 1);
	assert_int_equal(total.mos.n, 1);
}

/*
 * The records of sent packets may reach the analysis after the report about
 * them.
 */
static void test_sender_report_overtakes_records(void **state)
{
	struct rtcp_report b = {.ssrc = 9, .ext_max = 5};
	struct stream_second n;
	uint16_t seq = 0;
	double ms;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	send_packets(&seq, 2);
	assert_false(rtp_sender_report(&sender, 3, &b, 0, 0, &ms)); /* LSR 0 */
	assert_int_equal(sender.invalid_reports, 0);
	rtp_sender_close_second(&sender, S, &n);
	assert_int_equal(n.expected, 6);
	assert_int_equal(n.lost, 0);
}

static void report(uint32_t reporter, uint32_t ext_max, int32_t lost)
{
	const struct rtcp_report b = {
		.ssrc = 9, .ext_max = ext_max, .lost = lost};
	double ms;

	rtp_sender_report(&sender, reporter, &b, 0, 0, &ms);
}

/* The call moves to another device, whose counters start at 0. */
static void test_another_reporter_counts_anew(void **state)
{
	struct stream_total total;
	struct stream_second n;
	uint16_t seq = 1000;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	send_packets(&seq, 500);
	report(3, 1499, 100);
	send_packets(&seq, 500);
	rtp_sender_close_second(&sender, S, &n);
	report(4, 1999, 7);
	rtp_sender_close_second(&sender, 2 * S, &n);
	assert_true(n.has_loss);
	assert_int_equal(n.expected, 500);
	assert_int_equal(n.lost, 7);
	send_packets(&seq, 100);
	report(4, 2099, 8);
	rtp_sender_total(&sender, &total);
	assert_int_equal(total.expected, 1100);
	assert_int_equal(total.lost, 108);
	assert_int_equal(sender.invalid_reports, 0);
}

/*
 * Two sources report on the same stream at a time. The loss of each is a part
 * of what that source was to receive.
 */
static void test_two_reporters_at_a_time(void **state)
{
	struct stream_total total;
	uint16_t seq = 0;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	for (uint32_t i = 1; i <= 10; i++) {
		send_packets(&seq, 100);
		report(3, 100 * i - 1, 10 * (int32_t)i);
		report(4, 100 * i - 1, 30 * (int32_t)i);
	}
	rtp_sender_total(&sender, &total);
	assert_int_equal(total.lost, 10 * 10 + 9 * 30);
	assert_int_equal(total.expected, 10 * 100 + 9 * 100);
	assert_int_equal(sender.invalid_reports, 0);
}

/*
 * RFC 3550 A.1: a receiver that loses more than MAX_DROPOUT packets
 * resynchronises and restarts its counters under the same SSRC.
 */
static void test_reporter_that_begins_anew(void **state)
{
	struct stream_total total;
	uint16_t seq = 0;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	send_packets(&seq, 5000);
	report(3, 4999, 2000);
	send_packets(&seq, 500);
	report(3, 5499, 5);
	rtp_sender_total(&sender, &total);
	assert_int_equal(total.expected, 5500);
	assert_int_equal(total.lost, 2005);
	/* duplicates of every packet are not taken for a restart */
	send_packets(&seq, 500);
	report(3, 5999, -495);
	rtp_sender_total(&sender, &total);
	assert_int_equal(total.lost, 1505);
}

/* The peer reports more lost than was sent: the loss is unknown, not 0. */
static void test_report_that_adds_up_to_nothing(void **state)
{
	struct stream_second n;
	uint16_t seq = 0;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	send_packets(&seq, 100);
	report(3, 99, 0);
	rtp_sender_close_second(&sender, S, &n);
	assert_true(n.has_loss && n.has_mos);
	send_packets(&seq, 100);
	report(3, 199, 101);
	rtp_sender_close_second(&sender, 2 * S, &n);
	assert_int_equal(sender.invalid_reports, 1);
	assert_false(n.has_loss || n.has_mos);
	assert_true(n.has_jitter);
}

/*
 * Many sources report in any order: the loss never exceeds what was expected.
 */
static void test_many_reporters(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct stream_total total;
		uint64_t expected = 0;
		int64_t lost = 0;
		uint16_t seq = (uint16_t)random_below(&seed, 65536);
		const uint32_t first = seq;
		uint32_t sent = 0;
		int32_t missing[7] = {0};

		rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
		for (int i = 0; i < 100; i++) {
			uint32_t who = random_below(&seed, 7);
			int count = 1 + (int)random_below(&seed, 900);
			struct stream_second n;

			send_packets(&seq, count);
			sent += (uint32_t)count;
			missing[who] += (int32_t)random_below(
				&seed, (uint32_t)count + 1);
			report(who, first + sent - 1, missing[who]);
			rtp_sender_close_second(&sender, (i + 1) * S, &n);
			assert_true(n.lost <= (int64_t)n.expected);
			assert_true(n.has_loss ||
				    (n.expected == 0 && n.lost == 0));
			expected += n.expected;
			lost += n.lost;
		}
		rtp_sender_total(&sender, &total);
		assert_int_equal(total.expected, expected);
		assert_int_equal(total.lost, lost);
		assert_true(total.lost <= (int64_t)total.expected);
		assert_true(total.lost >= 0);
	}
}

/* Packets of 20 ms and one payload type, from sequence number `from` on. */
static void take_many(int64_t from, int64_t count, uint8_t pt)
{
	for (int64_t i = from; i < from + count; i++)
		take((uint16_t)i, i * 20, (uint32_t)(i * 160), pt);
}

/*
 * A second, and the whole stream, have the codec of most of their audio. A
 * packet from before the second's start does not count in it.
 */
static void test_codec_of_most_packets(void **state)
{
	struct stream_second n;
	struct stream_total total;

	(void)state;
	rtp_payload_map_add(&map, 18, "G729", 8000);
	rtp_payload_map_add(&map, 97, "X-none", 8000);
	take_many(0, 100, 0);
	take_many(100, 10, 101);
	rtp_stream_close_second(&stream, S, &n);
	near(n.r_factor, 93.2062, 1e-3);
	take_many(110, 10, 0);
	take_many(120, 11, 18);
	take_many(131, 50, 101);
	assert_string_equal(rtp_stream_codec(&stream)->name, "PCMU");
	rtp_stream_close_second(&stream, 2 * S, &n);
	near(n.r_factor, 82.2062, 1e-3);
	assert_string_equal(rtp_stream_second_codec(&stream)->name, "G729");
	/* telephone-events only: the codec of the second before */
	take_many(181, 5, 101);
	rtp_stream_close_second(&stream, 3 * S, &n);
	near(n.r_factor, 82.2062, 1e-3);
	/* equal counts: the lower payload type */
	take_many(186, 5, 18);
	take_many(191, 5, 0);
	rtp_stream_close_second(&stream, 4 * S, &n);
	near(n.r_factor, 93.2062, 1e-3);
	take_many(196, 20, 97);
	rtp_stream_close_second(&stream, 5 * S, &n);
	assert_true(n.packets == 20 && !n.has_mos);
	rtp_stream_total(&stream, &total);
	assert_string_equal(total.codec, "PCMU");
	assert_true(total.has_score);
	near(total.r_factor, 93.2062, 1e-3);
	take_many(216, 96, 97);
	rtp_stream_total(&stream, &total);
	assert_string_equal(total.codec, "X-none");
	assert_false(total.has_score);
	assert_non_null(total.no_score_reason);
	assert_int_equal(stream.pt_changes, 3);
}

/*
 * More codecs than the stream has counters for: the others share one, which has
 * no score.
 */
static void test_more_codecs_than_are_counted(void **state)
{
	struct stream_total total;
	int64_t at = 0;
	char name[16];

	(void)state;
	for (int i = 0; i < CODEC_COUNT_MAX + 10; i++) {
		memset(&map, 0, sizeof(map));
		snprintf(name, sizeof(name), "codec-%d", i);
		rtp_payload_map_add(&map, 96, name, 8000);
		rtp_stream_set_map(&stream, &map);
		take_many(at, 3, 96);
		at += 3;
	}
	rtp_stream_total(&stream, &total);
	assert_int_equal(total.received, at);
	assert_string_equal(total.codec, "");
	assert_false(total.has_score);
	memset(&map, 0, sizeof(map));
	rtp_payload_map_add(&map, 0, "PCMU", 8000);
	rtp_payload_map_add(&map, 96, "codec-3", 8000);
	rtp_stream_set_map(&stream, &map);
	take_many(at, 40, 96);
	rtp_stream_total(&stream, &total);
	assert_string_equal(total.codec, "codec-3");
}

static void send_audio(uint16_t *seq, uint8_t pt, int count)
{
	while (count-- > 0) {
		struct packet_record r = packet((*seq)++, 0, 0);

		r.kind = PACKET_RTP_SENT;
		r.marker_pt = pt;
		rtp_sender_update(&sender, &r);
	}
}

static void report_until(uint16_t seq, int32_t lost)
{
	struct rtcp_report b = {.ssrc = 9, .ext_max = seq, .lost = lost};
	double ms;

	rtp_sender_report(&sender, 3, &b, 0, 0, &ms);
}

/*
 * The same for a sent stream: each report concerns the codec of most packets
 * since the previous report.
 */
static void test_sender_codec_of_most_packets(void **state)
{
	struct rtp_payload pcmu = {.clock_hz = 8000, .codec = "PCMU"};
	struct rtp_payload g729 = {.clock_hz = 8000, .pt = 18, .codec = "G729"};
	struct stream_second n;
	struct stream_total total;
	uint16_t seq = 1;

	(void)state;
	emodel_values_of(&pcmu.values, "PCMU", 8000, NULL);
	emodel_values_of(&g729.values, "G729", 8000, NULL);
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	rtp_sender_set_payload(&sender, &pcmu);
	send_audio(&seq, 0, 60);
	send_audio(&seq, 101, 90); /* digits */
	rtp_sender_set_payload(&sender, &g729);
	send_audio(&seq, 0, 2); /* late: they were due before the change */
	send_audio(&seq, 18, 61);
	report_until(seq - 1, 0);
	rtp_sender_close_second(&sender, S, &n);
	near(n.r_factor, 93.2062, 1e-3);
	rtp_sender_total(&sender, &total);
	assert_string_equal(total.codec, "PCMU");
	near(total.r_factor, 93.2062, 1e-3);
	send_audio(&seq, 18, 2);
	report_until(seq - 1, 0);
	rtp_sender_close_second(&sender, 2 * S, &n);
	near(n.r_factor, 82.2062, 1e-3);
	rtp_sender_total(&sender, &total);
	assert_string_equal(total.codec, "G729");
	near(total.r_factor, 82.2062, 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_map_refuses, setup),
		cmocka_unit_test_setup(test_jitter_by_hand, setup),
		cmocka_unit_test_setup(test_jitter_across_timestamp_wrap,
				       setup),
		cmocka_unit_test_setup(test_events_and_noise_give_no_jitter,
				       setup),
		cmocka_unit_test_setup(
			test_unknown_payload_type_gives_no_jitter, setup),
		cmocka_unit_test_setup(test_clock_change_keeps_no_reference,
				       setup),
		cmocka_unit_test_setup(test_stall_is_jitter_pause_is_not,
				       setup),
		cmocka_unit_test_setup(test_silent_second_knows_nothing, setup),
		cmocka_unit_test_setup(test_seconds_sum_to_the_stream, setup),
		cmocka_unit_test_setup(test_total_of_nothing, setup),
		cmocka_unit_test_setup(test_report_block, setup),
		cmocka_unit_test_setup(test_sender_by_reports, setup),
		cmocka_unit_test_setup(test_sender_report_overtakes_records,
				       setup),
		cmocka_unit_test_setup(test_codec_of_most_packets, setup),
		cmocka_unit_test_setup(test_more_codecs_than_are_counted,
				       setup),
		cmocka_unit_test(test_sender_codec_of_most_packets),
		cmocka_unit_test(test_another_reporter_counts_anew),
		cmocka_unit_test(test_two_reporters_at_a_time),
		cmocka_unit_test(test_reporter_that_begins_anew),
		cmocka_unit_test(test_report_that_adds_up_to_nothing),
		cmocka_unit_test(test_many_reporters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
