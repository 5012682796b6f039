#include "media/analysis/rtp_seq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/rtp_strict.h"
#include "tests/unit/analysis/random.h"

#define CLOCK_HZ 8000
#define PERIOD   160

/* Packet i of a stream: 20 ms apart in arrival time and RTP timestamp. */
static struct packet_record packet(uint16_t first, int64_t i)
{
	return (struct packet_record){
		.mono_ns = 1000000000 + i * 20000000,
		.rtp_ts = (uint32_t)(i * PERIOD),
		.seq = (uint16_t)(first + i),
		.payload_bytes = 160,
		.header_bytes = 12,
	};
}

static enum rtp_verdict feed(struct rtp_seq *q, struct packet_record r)
{
	struct packet_record pending;

	return rtp_seq_update(q, &r, PERIOD, CLOCK_HZ, &pending);
}

static void assert_invariants(const struct rtp_seq *q)
{
	struct rtp_counters c;
	struct loss_runs runs;

	rtp_seq_counters(q, &c);
	rtp_seq_loss_runs(q, &runs);
	assert_int_equal(c.packets,
			 c.received + c.duplicates + c.stray + c.pending);
	assert_true(c.expected >= c.received);
	assert_int_equal(c.lost, c.expected - c.received);
	assert_int_equal(runs.lost, c.lost);
	assert_true(runs.runs <= runs.lost);
	assert_true(runs.longest <= runs.lost);
}

/*
 * Loss, reordering and a duplicate give the same figures wherever the sequence
 * number wraps.
 */
static void test_wrap_at_every_offset(void **state)
{
	static const int order[] = {0, 1, 2, 4, 3, 7, 8, 8, 9, 14, 15, 13, 16};

	(void)state;
	for (uint32_t first = 0; first < 65536; first++) {
		struct rtp_seq q;
		struct rtp_strict s;
		struct rtp_counters c;

		rtp_seq_init(&q);
		rtp_strict_init(&s, RTP_MIN_SEQUENTIAL);
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
			struct packet_record r =
				packet((uint16_t)first, order[i]);

			feed(&q, r);
			rtp_strict_update(&s, r.seq);
		}
		rtp_seq_counters(&q, &c);
		assert_int_equal(c.expected, 17);
		assert_int_equal(c.received, 12);
		assert_int_equal(c.lost, 5);
		assert_int_equal(c.duplicates, 1);
		assert_int_equal(c.reordered, 2);
		assert_int_equal(c.max_reorder_distance, 2);
		assert_int_equal(rtp_strict_expected(&s), 16);
		assert_int_equal(rtp_strict_lost(&s), 4);
	}
}

/* Any order within the late window gives the same loss. */
static void test_permutation_within_window_same_loss(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint16_t first = (uint16_t)random_below(&seed, 65536);
		uint32_t block = 2 + random_below(&seed, 900);
		int64_t index[3000];
		size_t n = 0;
		struct rtp_seq q;
		struct rtp_counters c;
		struct loss_runs in_order = {0};
		struct loss_runs runs;

		for (int64_t i = 0; i < 3000; i++) {
			bool lost = i > 0 && i < 2999 &&
				    random_below(&seed, 20) == 0;

			loss_runs_add(&in_order, lost);
			if (!lost)
				index[n++] = i;
		}
		for (size_t from = 0; from < n; from += block) {
			size_t count = n - from < block ? n - from : block;

			for (size_t k = count; k > 1; k--) {
				size_t a = from + k - 1;
				size_t b =
					from + random_below(&seed, (uint32_t)k);
				int64_t x = index[a];

				index[a] = index[b];
				index[b] = x;
			}
		}
		rtp_seq_init(&q);
		for (size_t k = 0; k < n; k++)
			feed(&q, packet(first, index[k]));
		assert_invariants(&q);
		rtp_seq_counters(&q, &c);
		rtp_seq_loss_runs(&q, &runs);
		assert_int_equal(c.received, n);
		assert_int_equal(c.expected, 3000);
		assert_int_equal(runs.lost, in_order.lost);
		assert_int_equal(runs.runs, in_order.runs);
		assert_int_equal(runs.longest, in_order.longest);
	}
}

/* For any input the counters must add up after every packet. */
static void test_invariants_of_garbage(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct rtp_seq q;
		int64_t at = 0;

		rtp_seq_init(&q);
		for (int i = 0; i < 600; i++) {
			uint32_t kind = random_below(&seed, 100);
			int64_t k = at;

			if (kind < 70)
				k = ++at;
			else if (kind < 80)
				k = at - random_below(&seed, 50);
			else if (kind < 90)
				k = at - random_below(&seed, 1200);
			else if (kind < 96)
				k = at += random_below(&seed, 4000);
			else
				k = at += random_below(&seed, 65536);
			feed(&q, packet(100, k));
			assert_invariants(&q);
		}
	}
}

static void test_duplicate_hides_no_loss(void **state)
{
	struct rtp_seq q;
	struct rtp_counters c;

	(void)state;
	rtp_seq_init(&q);
	feed(&q, packet(5, 0));
	assert_int_equal(feed(&q, packet(5, 0)), RTP_DUPLICATE);
	assert_int_equal(feed(&q, packet(5, 2)), RTP_IN_ORDER);
	assert_int_equal(feed(&q, packet(5, 0)), RTP_DUPLICATE);
	rtp_seq_counters(&q, &c);
	assert_int_equal(c.lost, 1);
	assert_int_equal(c.duplicates, 2);
}

static void test_first_captured_was_not_first_sent(void **state)
{
	struct rtp_seq q;
	struct rtp_counters c;

	(void)state;
	rtp_seq_init(&q);
	feed(&q, packet(65535, 3));
	assert_int_equal(feed(&q, packet(65535, 0)), RTP_REORDERED);
	rtp_seq_counters(&q, &c);
	assert_int_equal(c.expected, 4);
	assert_int_equal(c.lost, 2);
	assert_invariants(&q);
}

static void test_stray_then_restart(void **state)
{
	struct rtp_seq q;
	struct rtp_counters c;
	struct packet_record r;

	(void)state;
	rtp_seq_init(&q);
	for (int i = 0; i < 10; i++)
		feed(&q, packet(0, i));
	r = packet(20000, 10);
	assert_int_equal(feed(&q, r), RTP_PENDING);
	assert_int_equal(feed(&q, packet(0, 10)), RTP_IN_ORDER);
	/*
	 * a pending jump survives good packets; a second jump makes it a stray
	 */
	r.seq = 40000;
	r.rtp_ts = 12345678;
	assert_int_equal(feed(&q, r), RTP_PENDING);
	r.seq = 40001;
	r.rtp_ts += PERIOD;
	assert_int_equal(feed(&q, r), RTP_RESTART);
	rtp_seq_counters(&q, &c);
	assert_int_equal(c.stray, 1);
	assert_int_equal(c.restarts, 1);
	assert_int_equal(c.expected, 13);
	assert_int_equal(c.lost, 0);
	assert_invariants(&q);
}

/*
 * 100 s without packets: RFC 3550 A.1 would resynchronise, here it counts as
 * loss.
 */
static void test_outage_is_loss(void **state)
{
	struct rtp_seq q;
	struct rtp_strict s;
	struct rtp_counters c;
	struct loss_runs runs;

	(void)state;
	rtp_seq_init(&q);
	rtp_strict_init(&s, RTP_MIN_SEQUENTIAL);
	for (int i = 0; i < 5010; i++) {
		if (i >= 10 && i < 5000)
			continue;
		feed(&q, packet(65000, i));
		rtp_strict_update(&s, (uint16_t)(65000 + i));
	}
	rtp_seq_counters(&q, &c);
	rtp_seq_loss_runs(&q, &runs);
	assert_int_equal(c.outages, 1);
	assert_int_equal(c.lost, 4990);
	assert_int_equal(runs.longest, 4990);
	assert_int_equal(runs.runs, 1);
	assert_int_equal(rtp_strict_lost(&s), 0);
	assert_int_equal(s.resyncs, 1);
	assert_invariants(&q);
}

static void test_late_by_timestamp(void **state)
{
	struct rtp_seq q;
	struct packet_record r = packet(0, 100);

	(void)state;
	rtp_seq_init(&q);
	for (int i = 0; i < 700; i++) {
		if (i != 100 && i != 101)
			feed(&q, packet(0, i));
	}
	r.mono_ns += 12000000000;
	assert_int_equal(feed(&q, r), RTP_VERY_LATE);
	r = packet(0, 101);
	r.rtp_ts += 40 * CLOCK_HZ; /* the timestamp of another stream */
	assert_int_equal(feed(&q, r), RTP_PENDING);
	assert_invariants(&q);
}

static void test_strict_first_sequence_zero(void **state)
{
	struct rtp_strict s;

	(void)state;
	rtp_strict_init(&s, 0);
	assert_true(rtp_strict_update(&s, 0));
	assert_int_equal(rtp_strict_ext_max(&s), 0);
	assert_int_equal(rtp_strict_expected(&s), 1);
	rtp_strict_init(&s, RTP_MIN_SEQUENTIAL);
	assert_false(rtp_strict_update(&s, 0));
	assert_true(rtp_strict_update(&s, 1));
	assert_int_equal(rtp_strict_ext_max(&s), 1);
	assert_int_equal(s.received, 1);
}

static void test_strict_fraction(void **state)
{
	struct rtp_strict s;

	(void)state;
	rtp_strict_init(&s, 0);
	for (uint16_t i = 0; i < 10; i++) {
		if (i != 3 && i != 4)
			rtp_strict_update(&s, i);
	}
	assert_int_equal(rtp_strict_fraction(&s), 2 * 256 / 10);
	assert_int_equal(rtp_strict_fraction(&s), 0); /* nothing was expected */
	rtp_strict_update(&s, 9);
	rtp_strict_update(&s, 10);
	assert_int_equal(rtp_strict_fraction(&s), 0); /* the loss is negative */
	assert_int_equal(rtp_strict_lost(&s), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap_at_every_offset),
		cmocka_unit_test(test_permutation_within_window_same_loss),
		cmocka_unit_test(test_invariants_of_garbage),
		cmocka_unit_test(test_duplicate_hides_no_loss),
		cmocka_unit_test(test_first_captured_was_not_first_sent),
		cmocka_unit_test(test_stray_then_restart),
		cmocka_unit_test(test_outage_is_loss),
		cmocka_unit_test(test_late_by_timestamp),
		cmocka_unit_test(test_strict_first_sequence_zero),
		cmocka_unit_test(test_strict_fraction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
