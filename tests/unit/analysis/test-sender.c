/*
 * The peer's reports about a sent stream: how far they reach, and the loss when
 * there are duplicates (RFC 3550 6.4.1, RFC 3611 4.6).
 */
#include "media/analysis/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/analysis/random.h"

#define S     INT64_C(1000000000)
#define OURS  9u
#define PEER  3u
#define FIRST 65500u

static struct rtp_sender sender;
static struct rtp_rest sender_rest;
static uint16_t next_seq;
static int64_t now_ns;

static int setup(void **state)
{
	(void)state;
	memset(&sender, 0xa5, sizeof(sender)); /* of a session before */
	rtp_sender_init(&sender, OURS, 0, "PCMU", 8000, &sender_rest);
	next_seq = FIRST;
	now_ns = 0;
	return 0;
}

static void send_packets(int count)
{
	while (count-- > 0) {
		struct packet_record r = {.mono_ns = now_ns,
					  .seq = next_seq++,
					  .payload_bytes = 160,
					  .header_bytes = 12,
					  .kind = PACKET_RTP_SENT};

		rtp_sender_update(&sender, &r);
	}
}

/* A report block that reaches to the n-th packet. */
static void report(uint32_t ssrc, uint32_t n, int32_t lost)
{
	struct rtcp_report b = {
		.ssrc = OURS, .ext_max = FIRST + n - 1, .lost = lost};
	double ms;

	rtp_sender_report(&sender, ssrc, &b, now_ns, 0, &ms);
}

/* A statistics summary of packets [begin, end). */
static void summary(uint32_t ssrc, uint32_t begin, uint32_t end, uint32_t lost,
		    uint32_t duplicates)
{
	struct rtcp_stat_summary n = {
		.ssrc = OURS,
		.begin_seq = (uint16_t)(FIRST + begin - 1),
		.end_seq = (uint16_t)(FIRST + end - 1),
		.has_loss = true,
		.lost = lost,
		.has_duplicates = true,
		.duplicates = duplicates,
	};

	rtp_sender_summary(&sender, ssrc, &n);
}

static struct stream_total total(void)
{
	struct stream_total t;

	rtp_sender_total(&sender, &t);
	return t;
}

static void test_last_report_reaches_a_number(void **state)
{
	struct stream_total t;

	(void)state;
	send_packets(1000);
	assert_false(total().has_reach);
	report(PEER, 907, 45);
	t = total();
	assert_true(t.has_reach);
	assert_int_equal(t.reporter_ssrc, PEER);
	assert_int_equal(t.reported_ext_seq, FIRST + 906);
	assert_int_equal(t.unreported, 93);
	assert_int_equal(t.expected, 907);
	/* the report that came with the peer's BYE */
	report(PEER, 1000, 49);
	t = total();
	assert_int_equal(t.unreported, 0);
	assert_int_equal(t.expected, 1000);
	assert_int_equal(t.lost, 49);
	assert_int_equal(t.lost_by, STREAM_LOST_RR);
}

/*
 * The call moves to another device, whose extended sequence numbers have their
 * own cycle count.
 */
static void test_reach_is_that_of_who_reported_last(void **state)
{
	struct stream_total t;

	(void)state;
	send_packets(300);
	report(PEER, 200, 0);
	send_packets(100);
	report(PEER + 1, 380, 0);
	t = total();
	assert_int_equal(t.reporter_ssrc, PEER + 1);
	assert_int_equal(t.unreported, 20);
}

static void test_long_silence_of_reports(void **state)
{
	(void)state;
	send_packets(100);
	report(PEER, 100, 0);
	send_packets(200000);
	assert_int_equal(total().unreported, 200000);
}

/* 10 packets lost, 57 duplicated: the cumulative loss of the blocks is -47. */
static void test_duplicates_make_the_loss_negative(void **state)
{
	struct stream_total t;

	(void)state;
	send_packets(500);
	report(PEER, 500, 10 - 57);
	t = total();
	assert_int_equal(t.lost, -47);
	assert_int_equal(t.lost_by, STREAM_LOST_RR);
	assert_false(t.has_duplicates);
}

static void test_summary_tells_loss_and_duplicates(void **state)
{
	struct stream_second n;
	struct stream_total t;

	(void)state;
	send_packets(100);
	/* the peer never received the first two and does not count them */
	report(PEER, 100, 4 - 20);
	summary(PEER, 3, 101, 4, 20);
	rtp_sender_close_second(&sender, S, &n);
	assert_true(n.has_loss);
	assert_int_equal(n.expected, 100);
	assert_int_equal(n.lost, 4);
	send_packets(150);
	report(PEER, 250, 10 - 57);
	summary(PEER, 101, 251, 6, 37);
	t = total();
	assert_int_equal(t.lost, 10);
	assert_int_equal(t.expected, 250);
	assert_int_equal(t.received, 240);
	assert_true(t.has_duplicates);
	assert_int_equal(t.duplicates, 57);
	assert_int_equal(t.lost_by, STREAM_LOST_XR);
	/*
	 * a block without a summary: its interval is known from the report only
	 */
	send_packets(50);
	report(PEER, 300, 12 - 58);
	t = total();
	assert_int_equal(t.lost, 11);
	assert_int_equal(t.lost_by, STREAM_LOST_RR_XR);
	rtp_sender_close_second(&sender, 2 * S, &n);
	assert_int_equal(n.lost, 7);
}

/*
 * A compound packet was lost: the next block covers more than its summary and
 * is kept apart. The following ones match again.
 */
static void test_summary_after_a_lost_one(void **state)
{
	(void)state;
	send_packets(100);
	report(PEER, 100, 1);
	summary(PEER, 1, 101, 1, 0);
	send_packets(200);
	report(PEER, 300, 5 - 6);
	summary(PEER, 201, 301, 2, 3);
	assert_int_equal(total().lost, 5 - 6);
	assert_int_equal(total().lost_by, STREAM_LOST_RR_XR);
	send_packets(100);
	report(PEER, 400, 9 - 9);
	summary(PEER, 301, 401, 4, 3);
	assert_int_equal(total().lost, -1 + 4);
}

/* XR was negotiated later than RTCP started. */
static void test_summaries_begin_later(void **state)
{
	(void)state;
	send_packets(200);
	report(PEER, 200, 2);
	send_packets(200);
	report(PEER, 400, 4);
	send_packets(200);
	report(PEER, 600, 6 - 10);
	summary(PEER, 401, 601, 2, 10);
	assert_int_equal(total().lost, 6);
	assert_int_equal(total().expected, 600);
	assert_int_equal(total().lost_by, STREAM_LOST_RR_XR);
}

static void test_summary_that_cannot_be(void **state)
{
	(void)state;
	send_packets(200);
	summary(PEER, 1, 101, 5, 0); /* this source has sent no report yet */
	report(PEER, 100, 3);
	summary(PEER, 1, 90, 5, 0);    /* sequence numbers of another
				        * interval */
	summary(PEER, 90, 101, 12, 0); /* more lost than the interval has
				        * numbers */
	summary(PEER, 101, 101, 0, 0); /* an empty interval */
	assert_int_equal(total().lost, 3);
	assert_int_equal(total().lost_by, STREAM_LOST_RR);
}

/*
 * For any reports the seconds sum to the stream, and no more is lost than was
 * expected.
 */
static void test_any_reports_add_up(void **state)
{
	uint64_t seed = 13;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct stream_second n;
		int64_t lost = 0;
		uint64_t expected = 0;
		uint32_t sent = 0;

		setup(NULL);
		for (int i = 0; i < 60; i++) {
			uint32_t more = random_below(&seed, 200);
			uint32_t from = random_below(&seed, sent + 10);
			uint32_t ssrc = PEER + random_below(&seed, 2);

			send_packets((int)more);
			sent += more;
			report(ssrc, sent - random_below(&seed, 5),
			       (int32_t)random_below(&seed, 60) - 20);
			summary(ssrc, from, sent + random_below(&seed, 2),
				random_below(&seed, 100),
				random_below(&seed, 20));
			rtp_sender_close_second(&sender, (i + 1) * S, &n);
			lost += n.lost;
			expected += n.expected;
		}
		assert_int_equal(total().lost, lost);
		assert_int_equal(total().expected, expected);
		assert_true(lost <= (int64_t)expected);
	}
}

/*
 * A packet that the kernel refuses keeps its number and is not counted as sent:
 * the peer reports it as lost, however many there are.
 */
static void test_refused_packets_are_lost(void **state)
{
	struct stream_total t;

	(void)state;
	send_packets(100);
	report(PEER, 100, 0);
	next_seq += 250;
	send_packets(200);
	report(PEER, 550, 250);
	t = total();
	assert_int_equal(sender.invalid_reports, 0);
	assert_int_equal(t.packets, 300);
	assert_int_equal(t.expected, 550);
	assert_int_equal(t.lost, 250);
	assert_int_equal(t.unreported, 0);
	/* more of them than packets were sent, as the summary says, too */
	next_seq += 950;
	send_packets(50);
	report(PEER, 1550, 1200);
	summary(PEER, 1, 1551, 1200, 0);
	t = total();
	assert_int_equal(sender.invalid_reports, 0);
	assert_int_equal(sender.remote.invalid, 0);
	assert_int_equal(t.expected, 1550);
	assert_int_equal(t.lost, 1200);
	assert_int_equal(t.lost_by, STREAM_LOST_XR);
	/* a number that was never given to a packet */
	report(PEER, 1550 + 101, 1200);
	assert_int_equal(sender.invalid_reports, 1);
}

/* Refused packets before the first one and after the last one: the peer cannot
 * know of them. */
static void test_refused_packets_at_the_ends(void **state)
{
	struct stream_total t;

	(void)state;
	next_seq += 300;
	send_packets(100);
	next_seq += 300;
	report(PEER, 400, 0);
	t = total();
	assert_int_equal(sender.invalid_reports, 0);
	assert_int_equal(t.expected, 100);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.unreported, 0);
}

static struct stream_second second_until(int64_t end_ns)
{
	struct stream_second n;

	rtp_sender_close_second(&sender, end_ns, &n);
	return n;
}

static void near_rate(const struct stream_second *n, double lost_per_s)
{
	assert_true(n->has_lost_rate);
	assert_true(n->lost_per_s > lost_per_s - 1e-9 &&
		    n->lost_per_s < lost_per_s + 1e-9);
}

/* A report each five seconds, of a packet lost each second. */
static void test_rate_is_of_the_reported_time(void **state)
{
	struct stream_second n;

	(void)state;
	for (int i = 1; i <= 3; i++) {
		send_packets(250);
		now_ns = i * 5 * S;
		report(PEER, 250 * (uint32_t)i, 5 * i);
		n = second_until(now_ns + S);
		assert_int_equal(n.lost, 5);
		near_rate(&n, 1);
		n = second_until(now_ns + 4 * S);
		assert_false(n.has_loss || n.has_lost_rate);
	}
}

static void test_rate_of_several_reports(void **state)
{
	struct stream_second n;

	(void)state;
	send_packets(100);
	now_ns = 2 * S;
	report(PEER, 100, 10);
	/* another source, from where the first one ends: 0.2 s are too short */
	now_ns += S / 5;
	report(PEER + 1, 100, 0);
	n = second_until(3 * S);
	near_rate(&n, 10 / 2.0);
	/* the sum of both; one of them reports twice */
	send_packets(100);
	now_ns = 4 * S;
	report(PEER, 200, 10 + 11);
	report(PEER + 1, 200, 18);
	now_ns += S / 5;
	report(PEER, 200, 10 + 11);
	n = second_until(5 * S);
	near_rate(&n, 11 / 2.2 + 18 / 2.0);
	/* the time of an unknown loss does not count */
	send_packets(100);
	now_ns = 6 * S;
	report(PEER, 300, 21 + 101);
	assert_false(second_until(7 * S).has_lost_rate);
	send_packets(100);
	now_ns = 8 * S;
	report(PEER, 400, 21 + 101 + 8);
	n = second_until(9 * S);
	near_rate(&n, 8 / 2.0);
}

/* The duplicates that a block hid, of a source that then is given up. */
static void test_rate_with_a_summary(void **state)
{
	const struct packet_record other = {.ssrc = OURS + 1};
	struct stream_second n;

	(void)state;
	send_packets(100);
	now_ns = 2 * S;
	report(PEER, 100, 4 - 20);
	summary(PEER, 1, 101, 4, 20);
	rtp_sender_restart(&sender, &other);
	n = second_until(3 * S);
	assert_int_equal(n.lost, 4);
	near_rate(&n, 4 / 2.0);
}

/* Only the program of a tapped session knows when a packet was due. */
static void test_unknown_lateness_is_absent(void **state)
{
	struct packet_record r = {.seq = FIRST,
				  .kind = PACKET_RTP_SENT,
				  .lateness_us = INT32_MIN};
	struct stream_second n;

	(void)state;
	rtp_sender_update(&sender, &r);
	rtp_sender_close_second(&sender, S, &n);
	assert_int_equal(n.packets, 1);
	assert_false(n.has_lateness);
	assert_false(total().has_lateness);
	r.lateness_us = -250; /* left before it was due */
	rtp_sender_update(&sender, &r);
	rtp_sender_close_second(&sender, 2 * S, &n);
	assert_true(n.has_lateness);
	assert_true(n.lateness_ms < -0.249 && n.lateness_ms > -0.251);
	rtp_sender_close_second(&sender, 3 * S, &n); /* nothing was sent */
	assert_false(n.has_lateness);
	assert_true(total().has_lateness);
}

/* What an earlier session left in the memory is in no distribution. */
static void test_distributions_of_reused_memory(void **state)
{
	static const struct {
		uint32_t jitter_ticks;
		uint32_t rtt; /* 1/65536 s */
	} reports[] = {{40, 6554}, {80, 16384}, {160, 32768}};
	const uint32_t lsr = 7 << 16;
	struct stream_total t;
	double ms;

	(void)state;
	send_packets(1);
	t = total();
	assert_int_equal(t.jitter_ms.n, 0);
	assert_int_equal(t.rtt_ms.n, 0);
	for (int i = 0; i < 3; i++) {
		struct rtcp_report b = {
			.ssrc = OURS,
			.ext_max = FIRST,
			.jitter_ticks = reports[i].jitter_ticks,
			.lsr = lsr,
		};

		assert_true(rtp_sender_report(&sender, PEER, &b, now_ns,
					      lsr + reports[i].rtt, &ms));
	}
	t = total(); /* 5, 10, 20 ms and 100, 250, 500 ms */
	assert_int_equal(t.jitter_ms.n, 3);
	assert_true(t.jitter_ms.median > 9.8 && t.jitter_ms.median < 10.2);
	assert_int_equal(t.rtt_ms.n, 3);
	assert_true(t.rtt_ms.median > 245 && t.rtt_ms.median < 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_last_report_reaches_a_number,
				       setup),
		cmocka_unit_test_setup(test_reach_is_that_of_who_reported_last,
				       setup),
		cmocka_unit_test_setup(test_long_silence_of_reports, setup),
		cmocka_unit_test_setup(test_duplicates_make_the_loss_negative,
				       setup),
		cmocka_unit_test_setup(test_summary_tells_loss_and_duplicates,
				       setup),
		cmocka_unit_test_setup(test_summary_after_a_lost_one, setup),
		cmocka_unit_test_setup(test_summaries_begin_later, setup),
		cmocka_unit_test_setup(test_summary_that_cannot_be, setup),
		cmocka_unit_test_setup(test_refused_packets_are_lost, setup),
		cmocka_unit_test_setup(test_rate_is_of_the_reported_time,
				       setup),
		cmocka_unit_test_setup(test_rate_of_several_reports, setup),
		cmocka_unit_test_setup(test_rate_with_a_summary, setup),
		cmocka_unit_test_setup(test_refused_packets_at_the_ends, setup),
		cmocka_unit_test_setup(test_unknown_lateness_is_absent, setup),
		cmocka_unit_test_setup(test_distributions_of_reused_memory,
				       setup),
		cmocka_unit_test(test_any_reports_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
