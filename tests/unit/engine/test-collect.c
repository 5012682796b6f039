#include "agent/engine/report/sample_collector.h"

#include "base/clock.h"
#include "control/wire/point.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define T0 INT64_C(1700000000) /* a multiple of 10 */

static void gather(json_t *point, void *arg)
{
	assert_int_equal(json_array_append_new(arg, point), 0);
}

/** @return the decoded point; NULL: there is none */
static const struct wire_point *find(json_t *points, bool outgoing,
				     enum measure m, int64_t t_s)
{
	static struct wire_point point;
	char reason[WIRE_REASON_BYTES];
	json_t *object;
	size_t i;

	json_array_foreach(points, i, object)
	{
		assert_int_equal(wire_point_decode(&point, object, reason), 0);
		if (point.outgoing == outgoing && point.measure == m &&
		    point.t_s == t_s)
			return &point;
	}
	return NULL;
}

static void near(double value, double expected)
{
	if (fabs(value - expected) > 1e-9)
		fail_msg("%.17g is not %.17g", value, expected);
}

static void test_exact_distribution(void **state)
{
	struct sample_collector *c;
	json_t *points = json_array();
	const struct wire_point *p;

	(void)state;
	assert_int_equal(sample_collector_new(&c, "caller", 10), 0);
	for (int i = 10; i >= 1; i--)
		sample_collector_add(c, false, MEASURE_rtp_jitter,
				     (T0 + 3) * NS_PER_S, i);
	assert_int_equal(sample_collector_close(c, INT64_MAX, gather, points),
			 0);
	assert_int_equal(json_array_size(points), 1);
	p = find(points, false, MEASURE_rtp_jitter, T0);
	assert_non_null(p);
	assert_string_equal(p->role, "caller");
	assert_int_equal(p->d.n, 10);
	near(p->d.min, 1);
	near(p->d.max, 10);
	near(p->d.avg, 5.5);
	near(p->d.median, 5.5);
	near(p->d.p75, 7.75); /* percentile_cont */
	near(p->d.p90, 9.1);
	near(p->d.p95, 9.55);
	near(p->d.stddev, sqrt(8.25));
	json_decref(points);
	sample_collector_free(c);
}

/* The encoded sketch equals what docs/internals/wire.md computes. */
static void test_sketch_buckets(void **state)
{
	const double g = 1.01 / 0.99;
	struct sample_collector *c;
	json_t *points = json_array();
	json_t *sketch;
	json_t *bucket;

	(void)state;
	assert_int_equal(sample_collector_new(&c, "caller", 10), 0);
	sample_collector_add(c, true, MEASURE_rtp_lost, T0 * NS_PER_S, 5);
	sample_collector_add(c, true, MEASURE_rtp_lost, T0 * NS_PER_S, 5);
	sample_collector_add(c, true, MEASURE_rtp_lost, T0 * NS_PER_S, 0);
	sample_collector_add(c, true, MEASURE_rtp_lost, T0 * NS_PER_S, -2);
	sample_collector_close(c, INT64_MAX, gather, points);
	sketch = json_object_get(json_array_get(points, 0), "sketch");
	near(json_real_value(json_object_get(sketch, "a")), 0.01);
	assert_int_equal(json_integer_value(json_object_get(sketch, "z")), 1);
	assert_int_equal(json_array_size(json_object_get(sketch, "p")), 1);
	bucket = json_array_get(json_object_get(sketch, "p"), 0);
	assert_int_equal(json_integer_value(json_array_get(bucket, 0)),
			 (int)ceil(log(5) / log(g)));
	assert_int_equal(json_integer_value(json_array_get(bucket, 1)), 2);
	bucket = json_array_get(json_object_get(sketch, "n"), 0);
	assert_int_equal(json_integer_value(json_array_get(bucket, 0)),
			 (int)ceil(log(2) / log(g)));
	json_decref(points);
	sample_collector_free(c);
}

static void test_intervals_are_aligned(void **state)
{
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "caller", 10), 0);
	sample_collector_add(c, false, MEASURE_rtp_mos,
			     (T0 + 9) * NS_PER_S + 999999999, 1);
	sample_collector_add(c, false, MEASURE_rtp_mos, (T0 + 10) * NS_PER_S,
			     2);
	sample_collector_add(c, false, MEASURE_rtp_mos, (T0 + 25) * NS_PER_S,
			     3);

	/* An interval is not closed before its end, and only ended ones are. */
	sample_collector_close(c, (T0 + 10) * NS_PER_S - 1, gather, points);
	assert_int_equal(json_array_size(points), 0);
	sample_collector_close(c, (T0 + 10) * NS_PER_S, gather, points);
	assert_int_equal(json_array_size(points), 1);
	assert_non_null(find(points, false, MEASURE_rtp_mos, T0));

	/*
	 * A sample for a closed interval is counted as late, not added to
	 * another interval.
	 */
	sample_collector_add(c, false, MEASURE_rtp_mos, (T0 + 5) * NS_PER_S, 9);
	assert_int_equal(sample_collector_dropped(c), 1);

	sample_collector_close(c, INT64_MAX, gather, points);
	assert_int_equal(json_array_size(points), 3);
	near(find(points, false, MEASURE_rtp_mos, T0 + 10)->d.avg, 2);
	near(find(points, false, MEASURE_rtp_mos, T0 + 20)->d.avg, 3);
	assert_int_equal(sample_collector_dropped(c), 1);
	json_decref(points);
	sample_collector_free(c);
}

static void test_seconds_of_two_streams(void **state)
{
	const int64_t offset = T0 * NS_PER_S;
	const struct stream_second a = {
		.start_ns = 0,
		.duration_ns = NS_PER_S,
		.packets = 48,
		.bytes = 48 * 172,
		.expected = 50,
		.lost = 2,
		.has_loss = true,
		.reordered = 1,
		.has_jitter = true,
		.jitter_ms = 0.5,
		.has_rtt = true,
		.rtt_ms = 30,
		.has_mos = true,
		.mos = 4.1,
		.r_factor = 82,
		.has_mos_wb = true,
		.mos_wb = 3.2,
		.has_quality = true,
		.discarded = 3,
		.burst_lost = 4,
		.out_of_order = 5,
		.has_gap = true,
		.gap_ms = 61.5,
		.has_lateness = true,
		.lateness_ms = 0.25,
	};
	/*
	 * A late packet of an earlier second; the second is half a second long.
	 */
	const struct stream_second b = {
		.start_ns = NS_PER_S,
		.duration_ns = NS_PER_S / 2,
		.packets = 26,
		.bytes = 26 * 172,
		.expected = 25,
		.lost = -1,
		.has_loss = true,
	};
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "callee", 10), 0);
	sample_collector_second(c, false, &a, offset);
	sample_collector_second(c, false, &b, offset);
	sample_collector_close(c, INT64_MAX, gather, points);

	near(find(points, false, MEASURE_rtp_pkt_per_sec, T0)->d.min, 48);
	near(find(points, false, MEASURE_rtp_pkt_per_sec, T0)->d.max, 52);
	near(find(points, false, MEASURE_rtp_byte_per_sec, T0)->d.max,
	     52 * 172);
	near(find(points, false, MEASURE_rtp_lost, T0)->d.avg, 0.5);
	near(find(points, false, MEASURE_rtp_lost_per_sec, T0)->d.min, -2);
	near(find(points, false, MEASURE_rtp_lost_pct, T0)->d.max, 4);
	near(find(points, false, MEASURE_rtp_lost_pct, T0)->d.min, -4);
	near(find(points, false, MEASURE_rtp_reordered, T0)->d.max, 1);
	/* Unknown is absent, never 0. */
	assert_int_equal(find(points, false, MEASURE_rtp_jitter, T0)->d.n, 1);
	assert_int_equal(find(points, false, MEASURE_rtp_rtt, T0)->d.n, 1);
	near(find(points, false, MEASURE_rtp_r_factor, T0)->d.avg, 82);
	near(find(points, false, MEASURE_rtp_mos_wb, T0)->d.avg, 3.2);
	near(find(points, false, MEASURE_rtp_discarded, T0)->d.avg, 3);
	near(find(points, false, MEASURE_rtp_burst_lost, T0)->d.avg, 4);
	near(find(points, false, MEASURE_rtp_ooo, T0)->d.avg, 5);
	assert_int_equal(find(points, false, MEASURE_rtp_ooo, T0)->d.n, 1);
	near(find(points, false, MEASURE_rtp_gap, T0)->d.avg, 61.5);
	near(find(points, false, MEASURE_rtp_send_lateness, T0)->d.avg, 0.25);
	json_decref(points);
	sample_collector_free(c);
}

/*
 * A last second of 30 ms has counts but no rate. Without reports of the peer
 * `out` has no loss. It never has a reordering count.
 */
static void test_what_is_unknown_is_absent(void **state)
{
	const struct stream_second s = {
		.duration_ns = 30 * NS_PER_MS,
		.packets = 1,
		.bytes = 172,
	};
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "callee", 10), 0);
	sample_collector_second(c, true, &s, T0 * NS_PER_S);
	sample_collector_close(c, INT64_MAX, gather, points);
	assert_int_equal(json_array_size(points), 0);
	assert_int_equal(sample_collector_dropped(c), 0);
	json_decref(points);
	sample_collector_free(c);
}

/* Packets from before the first second or after the last one are counted in
 * it, but are not a part of its rate. */
static void test_rate_is_of_the_second(void **state)
{
	const struct stream_second s = {
		.duration_ns = NS_PER_S / 2,
		.packets = 25 + 10,
		.bytes = (25 + 10) * 172,
		.outside_packets = 10,
		.outside_bytes = 10 * 172,
	};
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "caller", 10), 0);
	for (int out = 0; out < 2; out++)
		sample_collector_second(c, out, &s, T0 * NS_PER_S);
	sample_collector_close(c, INT64_MAX, gather, points);
	for (int out = 0; out < 2; out++) {
		near(find(points, out, MEASURE_rtp_pkt_per_sec, T0)->d.max, 50);
		near(find(points, out, MEASURE_rtp_byte_per_sec, T0)->d.max,
		     50 * 172);
	}
	json_decref(points);
	sample_collector_free(c);
}

/* The peer's report each five seconds is no rate of its own second: the rate is
 * that of the reported time, and known in a last second of 30 ms, too. */
static void test_rate_of_the_peers_reports(void **state)
{
	struct stream_second s = {
		.duration_ns = NS_PER_S,
		.packets = 50,
		.expected = 250,
		.lost = 5,
		.has_loss = true,
		.has_lost_rate = true,
		.lost_per_s = 1,
	};
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "caller", 10), 0);
	sample_collector_second(c, true, &s, T0 * NS_PER_S);
	s.duration_ns = 30 * NS_PER_MS;
	sample_collector_second(c, true, &s, T0 * NS_PER_S);
	s.duration_ns = NS_PER_S;
	s.has_lost_rate = false; /* a report too soon after another one */
	sample_collector_second(c, true, &s, T0 * NS_PER_S);
	sample_collector_close(c, INT64_MAX, gather, points);
	near(find(points, true, MEASURE_rtp_lost, T0)->d.avg, 5);
	assert_int_equal(find(points, true, MEASURE_rtp_lost_per_sec, T0)->d.n,
			 2);
	near(find(points, true, MEASURE_rtp_lost_per_sec, T0)->d.max, 1);
	json_decref(points);
	sample_collector_free(c);
}

static void test_ceilings(void **state)
{
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "callee", 10), 0);
	for (int i = 0; i < COLLECT_OPEN_MAX + 2; i++)
		sample_collector_add(c, true, MEASURE_rtp_mos,
				     (T0 + 10 * i) * NS_PER_S, 1);
	assert_int_equal(sample_collector_dropped(c), 2);
	sample_collector_add(c, true, MEASURE_rtp_mos, T0 * NS_PER_S, NAN);
	assert_int_equal(sample_collector_dropped(c), 3);
	sample_collector_close(c, INT64_MAX, gather, points);
	assert_int_equal(json_array_size(points), COLLECT_OPEN_MAX);
	json_decref(points);
	sample_collector_free(c);
}

static void test_samples_have_a_ceiling(void **state)
{
	struct sample_collector *c;
	json_t *points = json_array();

	(void)state;
	assert_int_equal(sample_collector_new(&c, "callee", 10), 0);
	for (unsigned i = 0; i < COLLECT_SAMPLES_MAX + 2; i++)
		sample_collector_add(c, true, MEASURE_rtp_mos, T0 * NS_PER_S,
				     1);
	assert_int_equal(sample_collector_dropped(c), 2);
	/* of each figure so many */
	sample_collector_add(c, true, MEASURE_rtp_jitter, T0 * NS_PER_S, 1);
	assert_int_equal(sample_collector_dropped(c), 2);
	sample_collector_close(c, INT64_MAX, gather, points);
	assert_int_equal(json_array_size(points), 2);
	json_decref(points);
	sample_collector_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_distribution),
		cmocka_unit_test(test_sketch_buckets),
		cmocka_unit_test(test_intervals_are_aligned),
		cmocka_unit_test(test_seconds_of_two_streams),
		cmocka_unit_test(test_what_is_unknown_is_absent),
		cmocka_unit_test(test_rate_is_of_the_second),
		cmocka_unit_test(test_rate_of_the_peers_reports),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_samples_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
