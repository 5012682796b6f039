#include "media/analysis/remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "media/analysis/stream.h"

static void test_what_is_unavailable_is_absent(void **state)
{
	struct rtcp_voip_metrics v = {
		.r_factor = RTCP_VOIP_UNAVAILABLE,
		.mos_lq = RTCP_VOIP_UNAVAILABLE,
		.mos_cq = 41,
		.loss_rate = 255,
	};
	struct remote r = {0};
	struct stream_second n = {0};
	struct stream_total t = {0};

	(void)state;
	remote_close_second(&r, &n);
	remote_total(&r, &t);
	assert_false(n.voip.known || n.summary.known || t.voip.known ||
		     t.summary.known);
	remote_voip_take(&r, &v);
	remote_close_second(&r, &n);
	assert_true(n.voip.known && n.voip.has_mos_cq);
	assert_false(n.voip.has_r_factor || n.voip.has_mos_lq ||
		     n.voip.has_rtt || n.voip.has_delay || n.voip.has_buffer);
	assert_float_equal(n.voip.loss_pct, 99.609375, 1e-9);
	n = (struct stream_second){0};
	remote_close_second(&r, &n); /* no report came in this second */
	assert_false(n.voip.known);
	/* reserved and impossible values */
	v.r_factor = 101;
	v.mos_lq = 9;
	v.mos_cq = 51;
	remote_voip_take(&r, &v);
	assert_false(r.voip.has_r_factor || r.voip.has_mos_lq ||
		     r.voip.has_mos_cq);
}

static void test_summaries_add_up(void **state)
{
	struct rtcp_stat_summary s = {
		.has_loss = true,
		.lost = 4,
		.has_jitter = true,
		.min_jitter_ticks = 8,
		.mean_jitter_ticks = 16,
		.max_jitter_ticks = 80,
		.dev_jitter_ticks = 8,
	};
	struct remote r = {0};
	struct stream_second n = {0};
	struct stream_total t = {0};

	(void)state;
	remote_summary_take(&r, &s, 8000, 100);
	remote_close_second(&r, &n);
	assert_int_equal(n.summary.lost, 4);
	assert_false(n.summary.has_duplicates);
	s.min_jitter_ticks = 0;
	s.mean_jitter_ticks = 32;
	s.max_jitter_ticks = 40;
	s.has_duplicates = true;
	s.duplicates = 2;
	remote_summary_take(&r, &s, 8000, 200);
	remote_total(&r, &t);
	assert_int_equal(t.summary.lost, 8);
	assert_int_equal(t.summary.duplicates, 2);
	assert_float_equal(t.summary.jitter_min_ms, 0, 0);
	assert_float_equal(t.summary.jitter_mean_ms, 3, 1e-9);
	assert_float_equal(t.summary.jitter_max_ms, 10, 1e-9);
}

/* A peer may report any value: impossible ones are counted. */
static void test_impossible_blocks_are_counted(void **state)
{
	struct rtcp_stat_summary s = {.has_loss = true, .lost = 101};
	struct remote r = {0};

	(void)state;
	remote_summary_take(&r, &s, 8000, 100);
	assert_int_equal(r.invalid, 1);
	assert_false(r.sum.known);
	s.lost = 60;
	remote_summary_take(&r, &s, 8000, 100);
	remote_summary_take(&r, &s, 8000, 100); /* the sum exceeds what was
						 * sent */
	assert_int_equal(r.invalid, 2);
	assert_int_equal(r.sum.lost, 60);
	s.lost = 0;
	s.has_jitter = true;
	s.min_jitter_ticks = 5; /* above the mean and the maximum */
	remote_summary_take(&r, &s, 8000, 100);
	assert_int_equal(r.invalid, 3);
	remote_summary_take(&r, &s, 0, 100); /* no clock: no jitter */
	assert_false(r.sum.has_jitter);
	assert_int_equal(r.summaries, 2);
}

static void test_dlrr_is_a_round_trip(void **state)
{
	static struct rtp_sender sender;
	static struct rtp_rest sender_rest;
	struct rtcp_dlrr d = {.ssrc = 9, .lrr = 0x10000, .dlrr = 0x8000};
	double ms;

	(void)state;
	rtp_sender_init(&sender, 9, 0, "PCMU", 8000, &sender_rest);
	assert_true(rtp_sender_dlrr(&sender, &d, 0x18666, &ms));
	assert_float_equal(ms, 1000.0 * 0x666 / 65536, 1e-5);
	assert_false(rtp_sender_dlrr(&sender, &d, 0x17000, &ms));
	assert_int_equal(sender.negative_rtt, 1);
	d.lrr = 0; /* LRR 0: the peer has received no RRTR of ours */
	assert_false(rtp_sender_dlrr(&sender, &d, 0x18666, &ms));
	assert_int_equal(sender.negative_rtt, 1);
	d.lrr = 1; /* an hour ago: we never sent that RRTR */
	d.dlrr = 0;
	assert_false(rtp_sender_dlrr(&sender, &d, 3600u << 16, &ms));
	d.ssrc = 8;
	assert_false(rtp_sender_dlrr(&sender, &d, 2, &ms));
	assert_int_equal(sender.invalid_reports, 2);
	assert_int_equal(sender.rtt.moments.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_unavailable_is_absent),
		cmocka_unit_test(test_summaries_add_up),
		cmocka_unit_test(test_impossible_blocks_are_counted),
		cmocka_unit_test(test_dlrr_is_a_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
