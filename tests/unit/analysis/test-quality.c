#include "media/analysis/quality.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/detail.h"
#include "tests/unit/analysis/random.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct rtp_payload_map map;
static struct rtp_stream stream;
static struct rtp_rest rest;
static struct rtp_quality quality;

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("got %.12g, expected %.12g", got, want);
}

static int setup(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	assert_int_equal(rtp_payload_map_add(&map, 0, "PCMU", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&map, 9, "G722", 8000), 0);
	rtp_stream_init(&stream, 7, 0, &map, &rest);
	rtp_quality_init(&quality, &stream);
	return 0;
}

static struct packet_record packet(int64_t i, int64_t delay_ms)
{
	return (struct packet_record){
		.mono_ns = (i * 20 + delay_ms) * MS,
		.rtp_ts = (uint32_t)(i * 160),
		.ssrc = 7,
		.seq = (uint16_t)(65500 + i),
		.payload_bytes = 160,
		.header_bytes = 12,
	};
}

/* Packet i of a stream, delayed by delay_ms. */
static void take(int64_t i, int64_t delay_ms)
{
	struct packet_record r = packet(i, delay_ms);

	rtp_stream_update(&stream, &r);
}

static struct stream_second close_at(int64_t end_ns)
{
	struct stream_second n;

	rtp_stream_close_second(&stream, end_ns, &n);
	rtp_quality_close_second(&quality, &n);
	return n;
}

static struct stream_total total(void)
{
	struct stream_total t;

	rtp_stream_total(&stream, &t);
	rtp_quality_total(&quality, &t);
	return t;
}

/*
 * A packet 60 ms later than the first packet's delay is in time; 61 ms is too
 * late.
 */
static void test_late_packets_are_discarded(void **state)
{
	struct stream_second n;

	(void)state;
	for (int64_t i = 0; i < 25; i++)
		take(i, i == 10 ? 60 : 0);
	n = close_at(S / 2);
	assert_true(n.has_quality);
	assert_int_equal(n.discarded, 0);
	for (int64_t i = 25; i < 50; i++)
		take(i, i == 30 || i == 40 ? 61 : 0);
	n = close_at(S);
	assert_int_equal(n.discarded, 2);
	n = close_at(2 * S);
	assert_false(n.has_quality || n.has_gap);
	rtp_quality_finish(&quality);
	assert_int_equal(total().fixed.discarded, 2);
	assert_int_equal(total().lost, 0);
	near(total().fixed.delay_ms, 60, 0);
}

/*
 * 3 of 5 packets lost, then 1 alone: one burst. It counts in the second in
 * which the 16th good packet after it arrived.
 */
static void test_burst_is_known_when_it_is_over(void **state)
{
	struct stream_second n;
	struct stream_total t;

	(void)state;
	for (int64_t i = 0; i < 300; i++) {
		if (i == 20 || i == 21 || i == 24 || i == 90)
			continue;
		take(i, 0);
		if (i == 49) {
			n = close_at(S);
			assert_int_equal(n.lost, 3);
			assert_int_equal(n.burst_lost, 0);
		}
	}
	n = close_at(6 * S);
	assert_int_equal(n.burst_lost, 3);
	assert_false(rtp_quality_is_open(&quality));
	rtp_quality_finish(&quality);
	t = total();
	assert_int_equal(t.fixed.burst_lost, 3);
	near(t.fixed.burst_density_pct, 60, 1e-9);
	near(t.fixed.burst_duration_ms, 100, 1e-9);
	near(t.fixed.gap_density_pct, 100.0 / 295, 1e-9);
	near(t.fixed.gap_duration_ms, 295 * 20 / 2.0, 1e-9);
}

/* A burst still open at the end counts in the last second. */
static void test_burst_at_the_end(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 30; i++) {
		if (i != 26 && i != 27)
			take(i, 0);
	}
	assert_int_equal(close_at(S).burst_lost, 0);
	rtp_quality_finish(&quality);
	assert_true(rtp_quality_is_open(&quality));
	assert_int_equal(close_at(2 * S).burst_lost, 2);
	assert_int_equal(total().fixed.burst_lost, 2);
}

/*
 * 3 arrives after 5; 8 and 9 arrive after 10 and 11: three packets are
 * reordered, two arrivals are out of order.
 */
static void test_out_of_order_counts_arrivals(void **state)
{
	static const int order[] = {0, 1, 2,  4,  5, 3, 3,
				    6, 7, 10, 11, 8, 9, 12};
	struct stream_second n;

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		take(order[i], ((int64_t)i - order[i]) * 20);
	n = close_at(S);
	assert_int_equal(n.reordered, 3);
	assert_int_equal(n.duplicates, 1);
	assert_int_equal(n.out_of_order, 2);
	assert_int_equal(total().out_of_order, 2);
}

/*
 * An outage is a gap. A pause of the sender, during which its clock advanced,
 * is not.
 */
static void test_gap_is_the_longest_interruption(void **state)
{
	struct packet_record r;
	struct stream_second n;

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		take(i, 0);
	take(20, 3);
	n = close_at(S);
	assert_true(n.has_gap);
	near(n.gap_ms, 11 * 20 + 3, 1e-9);
	take(50, 0);
	r = packet(51, 0);
	r.mono_ns += 700 * MS;
	r.rtp_ts += 8 * 700;
	rtp_stream_update(&stream, &r);
	n = close_at(3 * S);
	near(n.gap_ms, 30 * 20 - 3, 1e-9);
	near(total().gap_max_ms, 597, 1e-9);
	n = close_at(4 * S);
	assert_false(n.has_gap);
}

static void compare_burst_gap(const struct burst_gap *a,
			      const struct burst_gap *b)
{
	assert_int_equal(a->bursts, b->bursts);
	assert_int_equal(a->burst_packets, b->burst_packets);
	assert_int_equal(a->burst_bad, b->burst_bad);
	assert_int_equal(a->gaps, b->gaps);
	assert_int_equal(a->gap_packets, b->gap_packets);
	assert_int_equal(a->gap_bad, b->gap_bad);
}

static void observe_both(const struct rtp_observation *o, void *arg)
{
	stream_detail_observe(o, arg);
	rtp_quality_observer.packet(o, &quality);
}

static void observe_both_run(const struct rtp_run *run, void *arg)
{
	stream_detail_observe_run(run, arg);
	rtp_quality_observer.run(run, &quality);
}

static const struct rtp_observer both = {.packet = observe_both,
					 .run = observe_both_run};

/*
 * For any traffic the figures equal those of the capture analysis, which waits
 * for a thousand packets, and the seconds sum to the stream.
 */
static void test_equals_detail_and_sums(void **state)
{
	static struct stream_detail detail;
	uint64_t seed = 77;

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct stream_second n;
		struct stream_total t;
		uint64_t sums[3] = {0};
		int64_t end = S;
		int64_t at = 0;

		setup(NULL);
		stream_detail_init(&detail, &stream);
		rtp_stream_observe(&stream, &both, &detail);
		for (int64_t i = 0; i < 3000; i++) {
			uint32_t kind = random_below(&seed, 100);
			int64_t k = ++at;
			struct packet_record r;

			if (kind < 3)
				at += random_below(&seed, 12);
			else if (kind < 6 && at > 1200)
				k = at - random_below(&seed, 900);
			r = packet(k, 0);
			r.mono_ns = i * 20 * MS + random_below(&seed, 90) * MS;
			while (i * 20 * MS >= end) {
				n = close_at(end);
				end += S;
				sums[0] += n.discarded;
				sums[1] += n.burst_lost;
				sums[2] += n.out_of_order;
			}
			rtp_stream_update(&stream, &r);
		}
		rtp_quality_finish(&quality);
		stream_detail_finish(&detail);
		n = close_at(end);
		t = total();
		compare_burst_gap(&quality.fixed_pattern.burst_gap,
				  &detail.fixed.burst_gap);
		compare_burst_gap(&quality.adaptive_pattern.burst_gap,
				  &detail.adaptive.burst_gap);
		assert_int_equal(t.fixed.discarded,
				 detail.jb_fixed.late + detail.jb_fixed.early);
		assert_int_equal(t.adaptive.discarded, detail.jb_adaptive.late);
		assert_true(t.fixed.discarded > 0 && t.fixed.burst_lost > 0);
		assert_int_equal(sums[0] + n.discarded, t.fixed.discarded);
		assert_int_equal(sums[1] + n.burst_lost, t.fixed.burst_lost);
		assert_int_equal(sums[2] + n.out_of_order, t.out_of_order);
		assert_true(t.out_of_order <= t.reordered);
	}
}

/*
 * The XR blocks of a stream sum to its loss and duplicates, also when a packet
 * lost in one block arrives in the next.
 */
static void test_summaries_sum_to_the_stream(void **state)
{
	struct rtcp_stat_summary b;

	(void)state;
	assert_false(rtp_quality_summary(&quality, &b));
	take(0, 0);
	take(1, 0);
	take(2, 8);
	take(4, 0);
	take(4, 0);
	assert_true(rtp_quality_summary(&quality, &b));
	assert_int_equal(b.ssrc, 7);
	assert_int_equal(b.begin_seq, 65500);
	assert_int_equal(b.end_seq, 65505);
	assert_true(b.has_loss && b.has_duplicates && b.has_jitter);
	assert_int_equal(b.ttl_kind, 0);
	assert_int_equal(b.lost, 1);
	assert_int_equal(b.duplicates, 1);
	/* |D| 0, 8, 8 ms of 8000 Hz */
	assert_int_equal(b.min_jitter_ticks, 0);
	assert_int_equal(b.max_jitter_ticks, 64);
	assert_int_equal(b.mean_jitter_ticks, 43);
	assert_int_equal(b.dev_jitter_ticks, 30);
	assert_false(rtp_quality_summary(&quality, &b)); /* nothing new to
							  * report */
	take(3, 60);
	take(6, 0);
	assert_true(rtp_quality_summary(&quality, &b));
	assert_int_equal(b.begin_seq, 65505);
	assert_int_equal(b.end_seq, 65507);
	assert_int_equal(b.lost, 0); /* 5 lost, 3 found late: the difference
				      * is carried to the next block */
	take(5, 60);
	take(7, 0);
	assert_true(rtp_quality_summary(&quality, &b));
	assert_int_equal(b.lost, 0);
	take(10, 0);
	assert_true(rtp_quality_summary(&quality, &b));
	assert_int_equal(b.lost, 1); /* 8 and 9 are lost, minus the one found
				      * before */
}

static void test_voip_metrics(void **state)
{
	struct rtcp_voip_metrics v;

	(void)state;
	for (int64_t i = 0; i < 400; i++) {
		if (i % 20 == 7)
			continue;               /* 5 % */
		take(i, i % 40 == 15 ? 90 : 0); /* 2.5 % late */
	}
	rtp_stream_add_rtt(&stream, 42.4);
	rtp_quality_voip(&quality, &v);
	assert_int_equal(v.ssrc, 7);
	assert_int_equal(v.loss_rate, 256 * 20 / 400);
	assert_int_equal(v.discard_rate, 256 * 10 / 400);
	assert_int_equal(v.gmin, 16);
	assert_int_equal(v.rtt_ms, 42);
	assert_int_equal(v.end_system_delay_ms, 80); /* 60 + 20 + 0.25 */
	assert_int_equal(v.jb_nominal_ms, 60);
	assert_int_equal(v.signal_dbm0, 127);
	assert_true(v.burst_density > 0 && v.r_factor < 90 && v.mos_lq < 44);
	assert_true(v.mos_cq <= v.mos_lq);
	/* the score was read only: the stream continues */
	take(400, 0);
	rtp_stream_end_run(&stream);
	assert_int_equal(quality.fixed_pattern.packets, 401 - 100);
	rtp_quality_finish(&quality);
	assert_int_equal(quality.fixed_pattern.packets, 401);
}

/* G.711 on the wideband scale is near 3.7, as G.113 says; G.722 is above it. */
static void test_wideband_scale(void **state)
{
	struct stream_second n;

	(void)state;
	for (int64_t i = 0; i < 50; i++)
		take(i, 0);
	n = close_at(S);
	assert_true(n.has_mos_wb);
	near(n.mos, 4.4094, 1e-4);
	near(n.mos_wb, 3.7008, 1e-4);
	near(total().mos_wb, n.mos_wb, 1e-9);
	assert_string_equal(total().score_scale, "nb");
	assert_null(total().score_declared);
	setup(NULL);
	for (int64_t i = 0; i < 50; i++) {
		struct packet_record r = packet(i, 0);

		r.marker_pt = 9;
		rtp_stream_update(&stream, &r);
	}
	n = close_at(S);
	near(n.mos_wb, n.mos, 1e-12);
	assert_true(n.mos_wb > 4.2);
	assert_string_equal(total().score_scale, "wb");
}

/*
 * The sender's clock runs 300 ppm fast, with an occasional lost and late
 * packet. The estimate needs five windows.
 */
static void test_skew_of_the_sender(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 1000; i++) {
		struct packet_record r = packet(i, i % 17 == 0 ? 3 : 0);

		if (i == 195)
			assert_false(total().has_skew);
		if (i % 100 == 50)
			continue;
		r.mono_ns -= i * 20 * MS / 1000000 * 300;
		rtp_stream_update(&stream, &r);
	}
	assert_true(total().has_skew);
	near(total().skew_ppm, (1 / (1 - 300e-6) - 1) * 1e6, 1e-3);
}

/*
 * Two days of a sender whose clock is 50 ppm slow: its transit time grows by
 * 8.6 s, and no packet is later than the one before.
 */
static void test_adaptive_buffer_follows_the_clocks(void **state)
{
	const int64_t packets = INT64_C(48) * 3600 * 50;
	struct jb_adaptive j;

	(void)state;
	jb_adaptive_init(&j);
	for (int64_t i = 0; i < packets; i++)
		jb_adaptive_update(&j, (double)i * 20 * 50e-6, 20);
	assert_int_equal(j.played, packets);
	assert_int_equal(j.late, 0);
	/* the minimum of the last one or two minutes is up to 6 ms below */
	assert_true(jb_adaptive_delay_ms(&j) >= 20);
	assert_true(jb_adaptive_delay_ms(&j) < 30);
}

/*
 * The route becomes 300 ms longer for good: the buffer discards for a while,
 * then adapts.
 */
static void test_adaptive_buffer_follows_the_route(void **state)
{
	struct jb_adaptive j;
	uint64_t late;

	(void)state;
	jb_adaptive_init(&j);
	for (int i = 0; i < 10000; i++)
		jb_adaptive_update(&j, 0, 20);
	for (int i = 0; i < 2 * JB_ADAPTIVE_WINDOW; i++)
		jb_adaptive_update(&j, 300, 20);
	late = j.late;
	assert_true(late > 0);
	for (int i = 0; i < 10000; i++)
		jb_adaptive_update(&j, 300, 20);
	assert_int_equal(j.late, late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_late_packets_are_discarded, setup),
		cmocka_unit_test_setup(test_burst_is_known_when_it_is_over,
				       setup),
		cmocka_unit_test_setup(test_burst_at_the_end, setup),
		cmocka_unit_test_setup(test_out_of_order_counts_arrivals,
				       setup),
		cmocka_unit_test_setup(test_gap_is_the_longest_interruption,
				       setup),
		cmocka_unit_test_setup(test_equals_detail_and_sums, setup),
		cmocka_unit_test_setup(test_summaries_sum_to_the_stream, setup),
		cmocka_unit_test_setup(test_voip_metrics, setup),
		cmocka_unit_test_setup(test_wideband_scale, setup),
		cmocka_unit_test_setup(test_skew_of_the_sender, setup),
		cmocka_unit_test(test_adaptive_buffer_follows_the_clocks),
		cmocka_unit_test(test_adaptive_buffer_follows_the_route),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
