#include "media/analysis/rtcp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/rtcp_tap.h"

/* SR with one report block (cumulative loss -2), SDES, BYE of two sources. */
static const uint8_t compound[] = {
	0x81, 200,  0,    12,   0,    0,    0,    1, /* header, sender 1 */
	0x83, 0xaa, 0x7e, 0x80, 0x40, 0,    0,    0, /* NTP 1970 + 0.25 s */
	0,    0,    0,    160,  0,    0,    0,    2, 0, 0,   0x01, 0x40, 0,
	0,    0,    9,    64,   0xff, 0xff, 0xfe, 0, 1, 0,   7, /* SSRC 9 */
	0,    0,    0,    44,   0,    1,    0,    0, 0, 0,   0x80, 0,    0x81,
	202,  0,    2,    0,    0,    0,    1,    1, 1, 'x', 0,    0x82, 203,
	0,    2,    0,    0,    0,    1,    0,    0, 0, 5,
};

static void test_compound_items_in_order(void **state)
{
	struct rtcp_reader r;
	struct rtcp_item i;

	(void)state;
	assert_int_equal(rtcp_reader_init(&r, compound, sizeof(compound)), 0);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_SENDER);
	assert_int_equal(i.ssrc, 1);
	assert_int_equal(i.u.sender.ntp, rtcp_ntp(250000000));
	assert_int_equal(i.u.sender.packets, 2);
	assert_int_equal(i.u.sender.octets, 0x140);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_REPORT);
	assert_int_equal(i.type, RTCP_TYPE_SR);
	assert_int_equal(i.u.report.ssrc, 9);
	assert_int_equal(i.u.report.fraction_lost, 64);
	assert_int_equal(i.u.report.lost, -2);
	assert_int_equal(i.u.report.ext_max, 0x10007);
	assert_int_equal(i.u.report.jitter_ticks, 44);
	assert_int_equal(i.u.report.lsr, 0x10000);
	assert_int_equal(i.u.report.dlsr, 0x8000);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_BYE);
	assert_int_equal(i.ssrc, 1);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_BYE);
	assert_int_equal(i.ssrc, 5);
	assert_false(rtcp_reader_next(&r, &i));
	assert_false(rtcp_reader_next(&r, &i));
}

/*
 * No truncated or changed packet causes a read outside the packet (ASan) or an
 * endless loop. An exact copy on the heap lets ASan see both ends.
 */
static void test_compound_cut_anywhere(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(compound); n++) {
		uint8_t *copy = malloc(n ? n : 1);
		struct rtcp_reader r;
		struct rtcp_item i;
		unsigned items = 0;

		assert_non_null(copy);
		memcpy(copy, compound, n);
		if (rtcp_reader_init(&r, copy, n) == 0) {
			assert_true(n == 52 || n == 64);
			while (rtcp_reader_next(&r, &i))
				items++;
			assert_int_equal(items, 2);
		}
		free(copy);
	}
}

static void test_frame_refused(void **state)
{
	uint8_t d[8] = {0x80, 201, 0, 1, 0, 0, 0, 1};
	struct rtcp_reader r;
	struct rtcp_item i;

	(void)state;
	assert_int_equal(rtcp_reader_init(&r, d, 0), -EBADMSG);
	assert_int_equal(rtcp_reader_init(&r, d, 8), 0);
	assert_false(rtcp_reader_next(&r, &i)); /* an RR without blocks
						 * reports nothing */
	d[0] = 0x40;
	assert_int_equal(rtcp_reader_init(&r, d, 8), -EBADMSG);
	d[0] = 0xa0; /* padding of 1: not a multiple of 4 */
	assert_int_equal(rtcp_reader_init(&r, d, 8), -EBADMSG);
	d[7] = 4;
	assert_int_equal(rtcp_reader_init(&r, d, 8), 0);
	assert_false(rtcp_reader_next(&r, &i));
	d[7] = 8; /* longer than the packet */
	assert_int_equal(rtcp_reader_init(&r, d, 8), -EBADMSG);
	d[0] = 0x9f; /* 31 blocks announced, none there */
	assert_int_equal(rtcp_reader_init(&r, d, 8), 0);
	assert_false(rtcp_reader_next(&r, &i));
}

/*
 * XR: an unknown block, RRTR, DLRR of two, a statistics summary, VoIP metrics
 * that are too short.
 */
static void test_xr_blocks(void **state)
{
	static const uint8_t d[] = {
		0x80, 207, 0,  25, 0,  0, 0, 7,  99, 0,    0, 1, 1,    2, 3,
		4,    4,   0,  0,  2,  0, 0, 0,  1,  0x80, 0, 0, 0,    5, 0,
		0,    6,   0,  0,  0,  1, 0, 0,  0,  2,    0, 0, 0,    3, 0,
		0,    0,   4,  0,  0,  0, 5, 0,  0,  0,    6, 6, 0xe8, 0, 9,
		0,    0,   0,  9,  0,  1, 0, 11, 0,  0,    0, 2, 0,    0, 0,
		1,    0,   0,  0,  3,  0, 0, 0,  9,  0,    0, 0, 5,    0, 0,
		0,    1,   60, 64, 62, 1, 7, 0,  0,  1,    0, 0, 0,    9,
	};
	struct rtcp_reader r;
	struct rtcp_item i;

	(void)state;
	assert_int_equal(sizeof(d), 104);
	assert_int_equal(rtcp_reader_init(&r, d, sizeof(d)), 0);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_XR_RRTR);
	assert_int_equal(i.ssrc, 7);
	assert_int_equal(rtcp_ntp_middle(i.u.ntp), 0x18000);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_XR_DLRR);
	assert_int_equal(i.u.dlrr.ssrc, 1);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.u.dlrr.ssrc, 4);
	assert_int_equal(i.u.dlrr.dlrr, 6);
	assert_true(rtcp_reader_next(&r, &i));
	assert_int_equal(i.kind, RTCP_ITEM_XR_SUMMARY);
	assert_int_equal(i.u.summary.end_seq, 11);
	assert_int_equal(i.u.summary.lost, 2);
	assert_int_equal(i.u.summary.ttl_kind, 1);
	assert_int_equal(i.u.summary.mean_ttl, 62);
	assert_false(rtcp_reader_next(&r, &i));
}

static void test_rtt(void **state)
{
	int64_t ns = -1;

	(void)state;
	assert_int_equal(rtcp_rtt_ns(&ns, 5, 0, 0), -ENODATA);
	assert_int_equal(rtcp_rtt_ns(&ns, 0x10000, 0x8000, 0x8001), -ERANGE);
	assert_int_equal(ns, -1);
	assert_int_equal(rtcp_rtt_ns(&ns, 0x18000, 0x8000, 0x8000), 0);
	assert_int_equal(ns, 500000000);
	/* DLSR 0 is legal; the clock may wrap in between */
	assert_int_equal(rtcp_rtt_ns(&ns, 0x00000002, 0xffffffff, 0), 0);
	assert_int_equal(ns, 3 * INT64_C(1000000000) / 65536);
}

static void test_tap_needs_the_right_sender(void **state)
{
	struct rtcp_tap t = {0};
	struct rtcp_item sr = {.kind = RTCP_ITEM_SENDER, .ssrc = 1};
	struct rtcp_item rr = {.kind = RTCP_ITEM_REPORT, .ssrc = 2};
	double ms = 0;

	(void)state;
	sr.u.sender.ntp = UINT64_C(0x0000000500000000);
	assert_false(rtcp_tap_item(&t, &sr, 1000000000, &ms));
	rr.u.report.ssrc = 3;
	rr.u.report.lsr = 0x50000;
	rr.u.report.dlsr = 0x1000; /* 62.5 ms */
	assert_false(rtcp_tap_item(&t, &rr, 1100000000, &ms));
	assert_int_equal(t.unmatched, 1);
	rr.u.report.ssrc = 1;
	assert_true(rtcp_tap_item(&t, &rr, 1100000000, &ms));
	assert_true(ms > 37.499 && ms < 37.501);
	rr.u.report.dlsr = 0x2000;
	assert_true(rtcp_tap_item(&t, &rr, 1100000000, &ms));
	assert_int_equal(t.negative, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compound_items_in_order),
		cmocka_unit_test(test_compound_cut_anywhere),
		cmocka_unit_test(test_frame_refused),
		cmocka_unit_test(test_xr_blocks),
		cmocka_unit_test(test_rtt),
		cmocka_unit_test(test_tap_needs_the_right_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
