#include "media/analysis/buffer_trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/random.h"
#include "tests/unit/analysis/traffic.h"

#define US          INT64_C(1000)
#define MS          INT64_C(1000000)
#define PACKETS_MAX 6000
#define TRIALS      (1 + LONGEST + 2)
#define LONGEST     200 /* ms; trial n is fixed:n */
#define ADAPTIVE    (1 + LONGEST)
#define NARROW      (ADAPTIVE + 1) /* adaptive:40-40 */
#define PCMU        0
#define UNKNOWN     97

static struct rtp_payload_map map;
static struct rtp_stream stream;
static struct rtp_rest rest;
static struct buffer_setting settings[TRIALS];
static struct buffer_trial memory[TRIALS];
static struct buffer_trials trials;
static struct packet_record records[PACKETS_MAX];
static const struct buffer_rating own;

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("got %.12g, expected %.12g", got, want);
}

static int setup(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	assert_int_equal(rtp_payload_map_add(&map, PCMU, "PCMU", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&map, UNKNOWN, "X-NEW", 8000), 0);
	settings[0].kind = BUFFER_IDEAL;
	for (size_t i = 1; i <= LONGEST; i++)
		settings[i] = (struct buffer_setting){
			.kind = BUFFER_FIXED,
			.min_ms = (double)i,
		};
	settings[ADAPTIVE] = (struct buffer_setting){
		.kind = BUFFER_ADAPTIVE,
		.min_ms = JB_ADAPTIVE_MIN_MS,
		.max_ms = JB_ADAPTIVE_MAX_MS,
	};
	settings[NARROW] = (struct buffer_setting){
		.kind = BUFFER_ADAPTIVE,
		.min_ms = 40,
		.max_ms = 40,
	};
	rtp_stream_init(&stream, 7, 0, &map, &rest);
	buffer_trials_init(&trials, &stream, settings, memory, TRIALS);
	rtp_stream_observe(&stream, &buffer_trials_observer, &trials);
	return 0;
}

static int compare_arrival(const void *a, const void *b)
{
	int64_t x = ((const struct packet_record *)a)->mono_ns;
	int64_t y = ((const struct packet_record *)b)->mono_ns;

	return (x > y) - (x < y);
}

static struct packet_record packet(size_t i, int64_t delay_us, uint8_t pt)
{
	return (struct packet_record){
		.mono_ns = (int64_t)i * 20 * MS + delay_us * US,
		.rtp_ts = (uint32_t)(i * 160),
		.ssrc = 7,
		.seq = (uint16_t)(65500 + i),
		.marker_pt = pt,
		.payload_bytes = 160,
		.header_bytes = 12,
	};
}

/* Give the first n records to the stream in order of arrival, and end it. */
static void run(size_t n)
{
	qsort(records, n, sizeof(*records), compare_arrival);
	for (size_t i = 0; i < n; i++)
		rtp_stream_update(&stream, &records[i]);
	rtp_stream_end_run(&stream);
	buffer_trials_finish(&trials);
}

static struct buffer_outcome outcome(size_t i,
				     const struct buffer_rating *rating)
{
	struct buffer_outcome o;

	buffer_trials_outcome(&trials, i, rating, &o);
	return o;
}

static struct buffer_least least(const struct buffer_rating *rating, double mos)
{
	struct buffer_least l;

	buffer_trials_least(&trials, rating, mos, &l);
	return l;
}

/* Packets 5, 15, 25, ... are 0.5 ms, 10.5 ms, 20.5 ms, ... late. A buffer of
 * N ms discards those that are later than N ms, and no other. */
static void test_a_fixed_buffer_discards_what_is_later(void **state)
{
	(void)state;
	for (size_t i = 0; i < 200; i++)
		records[i] = packet(
			i, i % 10 == 5 ? (int64_t)(i / 10) * 10000 + 500 : 0,
			PCMU);
	run(200);
	for (size_t n = 1; n <= LONGEST; n++) {
		struct buffer_outcome o = outcome(n, &own);
		size_t later = 0;

		for (size_t k = 0; k < 20; k++)
			later += 10 * k + 1 > n; /* 10 k + 0.5 > n */
		assert_int_equal(o.expected, 200);
		assert_int_equal(o.discarded, later);
		near(o.discarded_pct, (double)later / 2.0, 1e-12);
		near(o.score.ppl, (double)later / 2.0, 1e-12);
		near(o.buffer_ms, (double)n, 0);
		/* a packet of 20 ms, and 0.25 ms in the codec */
		near(o.ta_ms, (double)n + 20.25, 1e-9);
	}
	assert_int_equal(outcome(0, &own).discarded, 0);
	near(outcome(0, &own).ta_ms, 20.25, 1e-9);
}

/* The first packet is 130.5 ms later than the others: they are early, and each
 * buffer has room for them. One packet is 145.5 ms early: that is too much. */
static void test_early_packets_have_room(void **state)
{
	(void)state;
	records[0] = packet(0, 130500, PCMU);
	/* number 7 is the first that arrives behind it */
	for (size_t i = 1; i < 200; i++)
		records[i] = packet(i + 6, i == 100 ? -15000 : 0, PCMU);
	run(200);
	for (size_t n = 1; n <= LONGEST; n++)
		assert_int_equal(outcome(n, &own).discarded, 1);
}

/* Lost packets are not discarded as well, and both make the burst ratio. */
static void test_loss_and_discards_together(void **state)
{
	struct buffer_outcome o;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		/* of each 40 packets 10 is lost, 11 and 12 are 50.5 ms late */
		if (i % 40 == 10)
			continue;
		records[n++] = packet(
			i, i % 40 == 11 || i % 40 == 12 ? 50500 : 0, PCMU);
	}
	run(n);
	o = outcome(50, &own);
	assert_int_equal(o.expected, 400);
	assert_int_equal(o.discarded, 20);
	near(o.score.ppl, 7.5, 1e-12);
	/* 30 packets in 10 runs: 3, and 1 - 0.075 of random loss */
	near(o.burst_r, 3 * 0.925, 1e-12);
	o = outcome(51, &own);
	assert_int_equal(o.discarded, 0);
	near(o.score.ppl, 2.5, 1e-12);
	near(o.burst_r, 1, 1e-12);
}

/* Random delays and losses: each count is that of the delays themselves, so it
 * never rises with the buffer. */
static void test_discards_never_rise_with_the_buffer(void **state)
{
	static double late_ms[PACKETS_MAX];
	uint64_t seed = 0x6a6974746572;
	uint64_t before = UINT64_MAX;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < PACKETS_MAX; i++) {
		int64_t ms = 0;

		if (i > 0 && random_below(&seed, 50) == 0)
			continue; /* lost */
		if (i > 0 && random_below(&seed, 5) == 0)
			ms = random_below(&seed, 150);
		late_ms[n] = i > 0 ? (double)ms + 0.5 : 0.0;
		records[n] = packet(i, (int64_t)(late_ms[n] * 1000), PCMU);
		n++;
	}
	run(n);
	for (size_t buffer = 1; buffer <= LONGEST; buffer++) {
		uint64_t discarded = outcome(buffer, &own).discarded;
		uint64_t later = 0;

		for (size_t i = 0; i < n; i++)
			later += late_ms[i] > (double)buffer;
		assert_int_equal(discarded, later);
		assert_true(discarded <= before);
		before = discarded;
	}
	assert_int_equal(before, 0);
}

/* An adaptive buffer whose limits are the same is a fixed one above the minimum
 * transit time. */
static void test_an_adaptive_buffer_of_one_delay(void **state)
{
	struct buffer_outcome o;

	(void)state;
	for (size_t i = 0; i < 500; i++)
		records[i] = packet(
			i, i % 10 == 5 ? (int64_t)(i % 100) * 1000 + 500 : 0,
			PCMU);
	run(500);
	o = outcome(NARROW, &own);
	assert_int_equal(o.discarded, outcome(40, &own).discarded);
	/* 45.5 to 95.5 ms of 5.5 to 95.5 ms, 5 times each */
	assert_int_equal(o.discarded, 30);
	near(o.buffer_ms, 40, 1e-9);
	near(o.score.mos, outcome(40, &own).score.mos, 1e-12);
}

/* The same packets, with every kind of impairment, as `offhook analyze` counts
 * them. */
static void test_as_the_detailed_analysis(void **state)
{
	static const struct rtp_observer detailed = {
		.packet = stream_detail_observe,
		.run = stream_detail_observe_run,
	};
	static struct stream_detail detail;
	static struct rtp_stream other;
	static struct rtp_rest other_rest;
	struct packet_record at = {
		.ssrc = 7, .payload_bytes = 160, .header_bytes = 12};
	uint64_t seed = 20;
	struct detail_score fixed;
	struct detail_score adaptive;

	(void)state;
	traffic_map(&map);
	rtp_stream_init(&other, 7, 0, &map, &other_rest);
	stream_detail_init(&detail, &other);
	rtp_stream_observe(&other, &detailed, &detail);
	for (size_t i = 0; i < 50000; i++) {
		struct packet_record r = traffic_next(&at, &seed);

		/* the route becomes longer, then shorter */
		if (i % 500 == 250)
			at.mono_ns += 150 * MS;
		else if (i % 500 == 499)
			at.mono_ns -= 150 * MS;
		rtp_stream_update(&stream, &r);
		rtp_stream_update(&other, &r);
	}
	rtp_stream_end_run(&stream);
	rtp_stream_end_run(&other);
	buffer_trials_finish(&trials);
	stream_detail_finish(&detail);
	stream_detail_score_fixed(&detail, &fixed);
	stream_detail_score_adaptive(&detail, &adaptive);
	assert_int_equal(outcome(0, &own).expected, detail.network.packets);
	assert_int_equal(outcome(60, &own).discarded,
			 detail.jb_fixed.late + detail.jb_fixed.early);
	assert_true(detail.jb_fixed.late > 0 && detail.jb_adaptive.late > 0);
	near(outcome(60, &own).score.ppl, fixed.score.ppl, 0);
	near(outcome(60, &own).score.burst_r, fixed.score.burst_r, 0);
	near(outcome(60, &own).score.mos, fixed.score.mos, 0);
	near(outcome(60, &own).ta_ms, fixed.ta_ms, 0);
	assert_int_equal(outcome(ADAPTIVE, &own).discarded,
			 detail.jb_adaptive.late);
	near(outcome(ADAPTIVE, &own).score.mos, adaptive.score.mos, 0);
	near(outcome(ADAPTIVE, &own).ta_ms, adaptive.ta_ms, 0);
}

/* 1000 packets; each tenth is late_us late, or lost. */
static void each_tenth(int64_t late_us, bool lost, uint8_t pt)
{
	size_t n = 0;

	for (size_t i = 0; i < 1000; i++) {
		bool tenth = i % 10 == 5;

		if (!tenth || !lost)
			records[n++] = packet(i, tenth ? late_us : 0, pt);
	}
	run(n);
}

static void test_the_least_buffer(void **state)
{
	struct buffer_least l;

	(void)state;
	each_tenth(100500, false, PCMU);
	l = least(&own, 4.0);
	assert_int_equal(l.limit, BUFFER_LIMIT_NONE);
	near(l.delay_ms, 101, 0);
	/* the shortest without discards is the best one */
	near(l.best_ms, 101, 0);
	near(l.best_mos, outcome(101, &own).score.mos, 0);
	assert_true(outcome(100, &own).score.mos < 4.0);
	assert_true(outcome(102, &own).score.mos < l.best_mos);
	/* a tenth of loss is enough for 3 */
	near(least(&own, 3.0).delay_ms, 1, 0);
}

static void test_another_codec_and_the_network(void **state)
{
	struct emodel_values g729;
	struct buffer_rating rating = {.values = &g729, .network_ms = 30.0};
	struct buffer_outcome o;
	struct score score;

	(void)state;
	emodel_values_of(&g729, "G729", 8000, NULL);
	each_tenth(100500, false, PCMU);
	o = outcome(60, &rating);
	/* buffer, packet, network, look-ahead of G.729 */
	near(o.ta_ms, 60 + 20 + 30 + 5, 1e-9);
	score_rate_values(&score, &g729, 10.0, 1.0, o.ta_ms);
	assert_true(score.valid && o.score.valid);
	near(o.score.mos, score.mos, 1e-9);
	assert_true(o.score.mos < outcome(60, &own).score.mos);
}

static void test_the_codec_is_the_limit(void **state)
{
	struct buffer_least l;

	(void)state;
	each_tenth(0, false, PCMU);
	l = least(&own, 4.45);
	assert_int_equal(l.limit, BUFFER_LIMIT_CODEC);
	/* MOS 4.41 without delay, a little less with a packet time of 20 ms */
	assert_true(l.limit_mos > 4.38 && l.limit_mos < 4.4095);
	near(l.best_ms, 1, 0);
}

static void test_the_delay_of_the_network_is_the_limit(void **state)
{
	const struct buffer_rating far = {.network_ms = 400.0};
	struct buffer_least l;

	(void)state;
	each_tenth(0, false, PCMU);
	l = least(&far, 4.0);
	assert_int_equal(l.limit, BUFFER_LIMIT_NETWORK);
	assert_true(l.limit_mos < 4.0);
}

static void test_the_loss_of_the_network_is_the_limit(void **state)
{
	struct buffer_least l;

	(void)state;
	each_tenth(0, true, PCMU);
	l = least(&own, 4.0);
	assert_int_equal(l.limit, BUFFER_LIMIT_LOSS);
	near(l.limit_mos, outcome(0, &own).score.mos, 0);
	near(outcome(0, &own).score.ppl, 10.0, 1e-9);
	assert_true(l.best_mos < l.limit_mos);
}

static void test_jitter_is_the_limit(void **state)
{
	struct buffer_least l;

	(void)state;
	each_tenth(200500, false, PCMU);
	l = least(&own, 4.0);
	assert_int_equal(l.limit, BUFFER_LIMIT_JITTER);
	assert_int_equal(outcome(LONGEST, &own).discarded, 100);
	/* every buffer discards the same: the shortest one is the best */
	near(l.best_ms, 1, 0);
}

static void test_no_values_no_score(void **state)
{
	struct buffer_least l;

	(void)state;
	each_tenth(0, false, UNKNOWN);
	l = least(&own, 4.0);
	assert_int_equal(l.limit, BUFFER_LIMIT_NO_SCORE);
	assert_non_null(l.reason);
	assert_false(l.has_best);
	assert_false(outcome(60, &own).score.valid);
}

static void assert_setting(const char *text, enum buffer_kind kind,
			   double min_ms, double max_ms, const char *printed)
{
	char again[BUFFER_SETTING_BYTES];
	struct buffer_setting s;
	const char *reason;

	assert_int_equal(buffer_setting_parse(&s, text, &reason), 0);
	assert_int_equal(s.kind, kind);
	near(s.min_ms, min_ms, 0);
	near(s.max_ms, max_ms, 0);
	buffer_setting_text(&s, again);
	assert_string_equal(again, printed);
}

static void test_settings(void **state)
{
	static const char *const wrong[] = {
		"",
		"fixed",
		"fixed:",
		"fixed:0",
		"fixed:201",
		"fixed:60ms",
		"adaptive:",
		"adaptive:20",
		"adaptive:0-9",
		"adaptive:9-8",
		"adaptive:9-",
		"adaptive:-9",
		"adaptive:1-501",
		"ideal",
		"fixed:60,adaptive",
		"adaptive:1-00000000000000000000000000000000000000000002",
	};
	struct buffer_setting s = {.min_ms = -1};

	(void)state;
	assert_setting("fixed:60", BUFFER_FIXED, 60, 0, "fixed:60");
	assert_setting("fixed:1.5", BUFFER_FIXED, 1.5, 0, "fixed:1.5");
	assert_setting("adaptive", BUFFER_ADAPTIVE, 20, 200, "adaptive:20-200");
	assert_setting("adaptive:30-500", BUFFER_ADAPTIVE, 30, 500,
		       "adaptive:30-500");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const char *reason = NULL;

		assert_int_not_equal(
			buffer_setting_parse(&s, wrong[i], &reason), 0);
		assert_non_null(reason);
		near(s.min_ms, -1, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_a_fixed_buffer_discards_what_is_later, setup),
		cmocka_unit_test_setup(test_early_packets_have_room, setup),
		cmocka_unit_test_setup(test_loss_and_discards_together, setup),
		cmocka_unit_test_setup(test_discards_never_rise_with_the_buffer,
				       setup),
		cmocka_unit_test_setup(test_an_adaptive_buffer_of_one_delay,
				       setup),
		cmocka_unit_test_setup(test_as_the_detailed_analysis, setup),
		cmocka_unit_test_setup(test_the_least_buffer, setup),
		cmocka_unit_test_setup(test_another_codec_and_the_network,
				       setup),
		cmocka_unit_test_setup(test_the_codec_is_the_limit, setup),
		cmocka_unit_test_setup(
			test_the_delay_of_the_network_is_the_limit, setup),
		cmocka_unit_test_setup(
			test_the_loss_of_the_network_is_the_limit, setup),
		cmocka_unit_test_setup(test_jitter_is_the_limit, setup),
		cmocka_unit_test_setup(test_no_values_no_score, setup),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
