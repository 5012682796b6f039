#include "media/lateness.h"
#include "media/tx/rtcp_build.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_rtcp_build_full_compound(void **state)
{
	const struct rtcp_compound c = {
		.ssrc = 0x11223344,
		.has_sender = true,
		.sender = {.ntp = 0x0102030405060708,
			   .rtp_ts = 0x090a0b0c,
			   .packets = 100,
			   .octets = 16000},
		.report_count = 1,
		.reports[0] = {.ssrc = 0xa0b0c0d0,
			       .fraction_lost = 7,
			       .lost = -2,
			       .ext_max = 0x0001fffe,
			       .jitter_ticks = 33,
			       .lsr = 0x03040506,
			       .dlsr = 65536},
		.cname = "ab",
		.bye = true,
	};
	static const uint8_t
		want[] =
			{
				0x81, 200,  0,    12,   0x11, 0x22,
				0x33, 0x44, /* SR */
				1,    2,    3,    4,    5,    6,
				7,    8,    9,    10,   11,   12, /* NTP, RTP */
				0,    0,    0,    100,  0,    0,
				0x3e, 0x80, /* counts */
				0xa0, 0xb0, 0xc0, 0xd0, 7,    0xff,
				0xff, 0xfe, 0,    1,    0xff, 0xfe,
				0,    0,    0,    33,   3,    4,
				5,    6,    0,    1,    0,    0, /* block */
				0x81, 202,  0,    3,    0x11, 0x22,
				0x33, 0x44, /* SDES */
				1,    2,    'a',  'b',  0,    0,
				0,    0, /* CNAME, end, padding */
				0x81, 203,  0,    1,    0x11, 0x22,
				0x33, 0x44, /* BYE */
			};
	uint8_t got[RTCP_COMPOUND_BYTES];

	(void)state;
	assert_int_equal(rtcp_compound_write(got, &c), sizeof(want));
	assert_memory_equal(got, want, sizeof(want));
}

/* RFC 3550 6.4: the header's report count and the order of the blocks. */
static void test_rtcp_build_a_block_for_each_source(void **state)
{
	(void)state;
	for (uint8_t count = 0; count <= RTCP_REPORTS_MAX; count++) {
		struct rtcp_compound c = {.ssrc = 9,
					  .has_sender = count & 1,
					  .report_count = count,
					  .cname = "ab"};
		uint8_t got[RTCP_COMPOUND_BYTES];
		struct rtcp_reader reader;
		struct rtcp_item item;
		uint32_t seen = 0;

		for (uint32_t i = 0; i < count; i++)
			c.reports[i] = (struct rtcp_report){.ssrc = 100 + i,
							    .ext_max = i};
		assert_int_equal(rtcp_reader_init(&reader, got,
						  rtcp_compound_write(got, &c)),
				 0);
		assert_int_equal(got[0], 0x80 | count);
		while (rtcp_reader_next(&reader, &item)) {
			if (item.kind != RTCP_ITEM_REPORT)
				continue;
			assert_int_equal(item.u.report.ssrc, 100 + seen);
			assert_int_equal(item.u.report.ext_max, seen);
			seen++;
		}
		assert_int_equal(seen, count);
	}
}

static void test_rtcp_build_every_cname_length_reads_back(void **state)
{
	char cname[RTCP_CNAME_BYTES] = "";

	(void)state;
	for (size_t len = 0; len < RTCP_CNAME_BYTES; len++) {
		struct rtcp_compound c = {
			.ssrc = 9,
			.has_sender = true,
			.report_count = 1,
			.cname = cname,
			.bye = true,
		};
		uint8_t got[RTCP_COMPOUND_BYTES];
		struct rtcp_reader reader;
		struct rtcp_item item;
		size_t bytes;
		int items = 0;

		memset(cname, 'x', len);
		bytes = rtcp_compound_write(got, &c);
		assert_true(bytes <= sizeof(got));
		assert_int_equal(rtcp_reader_init(&reader, got, bytes), 0);
		while (rtcp_reader_next(&reader, &item))
			items++;
		assert_int_equal(items, 3); /* sender, block, BYE */
		c.has_sender = c.bye = false;
		c.report_count = 0;
		bytes = rtcp_compound_write(got, &c);
		assert_int_equal(got[1], RTCP_TYPE_RR);
		assert_int_equal(rtcp_reader_init(&reader, got, bytes), 0);
		assert_false(rtcp_reader_next(&reader, &item));
	}
}

static double seconds(const struct rtcp_interval_params *p, double random)
{
	return (double)rtcp_interval_ns(p, random) / (double)NS_PER_S;
}

static void test_rtcp_interval_follows_the_rules(void **state)
{
	/* PCMU at 20 ms: 80 kbit/s per direction with its headers */
	struct rtcp_interval_params p = {
		.members = 2,
		.senders = 2,
		.we_sent = true,
		.initial = true,
		.average_bytes = 120,
		.session_kbps = 160,
	};

	(void)state;
	/* 360/160 = 2.25 s, half for the first report, over e - 3/2 */
	assert_true(fabs(seconds(&p, 0.5) - 1.125 / 1.21828) < 1e-6);
	p.initial = false;
	assert_true(fabs(seconds(&p, 0.5) - 2.25 / 1.21828) < 1e-6);
	assert_true(fabs(seconds(&p, 0) - 1.125 / 1.21828) < 1e-6);
	assert_true(fabs(seconds(&p, 1) - 3.375 / 1.21828) < 1e-6);
	/*
	 * many members: n * size / bandwidth; 5 % of 160 kbit/s = 1000 byte/s
	 */
	p.members = 100;
	p.senders = 50;
	assert_true(fabs(seconds(&p, 0.5) - 12.0 / 1.21828) < 1e-6);
	p.senders = 10; /* a quarter for 10 senders: 250 byte/s */
	assert_true(fabs(seconds(&p, 0.5) - 4.8 / 1.21828) < 1e-6);
	p.we_sent = false; /* the rest for 90 others: 750 byte/s */
	assert_true(fabs(seconds(&p, 0.5) - 14.4 / 1.21828) < 1e-6);
	p.fixed_ms = 300;
	assert_true(fabs(seconds(&p, 0.5) - 0.3) < 1e-6);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* Delays up to what 32 bits can hold, and longer ones. */
static void test_delay_of_any_age(void **state)
{
	uint32_t delay = 7;

	(void)state;
	assert_true(rtcp_delay(&delay, 0));
	assert_int_equal(delay, 0);
	assert_true(rtcp_delay(&delay, 5250000000));
	assert_int_equal(delay, 0x54000);
	assert_true(rtcp_delay(&delay, INT64_C(65536000000000) - 1));
	assert_int_equal(delay, UINT32_MAX);
	delay = 7;
	assert_false(rtcp_delay(&delay, INT64_C(65536000000000)));
	assert_false(rtcp_delay(&delay, INT64_C(48) * 3600 * NS_PER_S));
	assert_false(rtcp_delay(&delay, INT64_MAX));
	assert_int_equal(delay, 7);
}

static void test_lateness_within_one_percent(void **state)
{
	enum {
		COUNT = 20000
	};
	const double count = COUNT;
	static struct lateness l;
	static int64_t samples[COUNT];
	struct distribution d;
	double p99;
	double sum = 0;
	double squares = 0;

	(void)state;
	lateness_read(&l, &d, &p99);
	assert_int_equal(d.n, 0);
	srand(42);
	for (int i = 0; i < COUNT; i++) {
		/* 1 us to 100 ms, uniform on a logarithmic scale */
		samples[i] = (int64_t)pow(10, 3 + 5.0 * rand() / RAND_MAX);
		lateness_add(&l, samples[i]);
		sum += (double)samples[i] / 1e6;
		squares += pow((double)samples[i] / 1e6, 2);
	}
	qsort(samples, COUNT, sizeof(samples[0]), compare);
	lateness_read(&l, &d, &p99);
	sum /= count;
	assert_int_equal(d.n, COUNT);
	assert_true(fabs(d.min - (double)samples[0] / 1e6) < 1e-12);
	assert_true(fabs(d.max - (double)samples[COUNT - 1] / 1e6) < 1e-9);
	assert_true(fabs(d.avg - sum) < 1e-6 * sum);
	assert_true(fabs(d.stddev / sqrt(squares / count - sum * sum) - 1) <
		    0.01);
	assert_true(fabs(d.median * 1e6 / (double)samples[COUNT / 2] - 1) <
		    0.01);
	assert_true(fabs(p99 * 1e6 / (double)samples[COUNT * 99 / 100] - 1) <
		    0.01);
	lateness_add(&l, -5); /* early counts as on time */
	lateness_add(&l, INT64_MAX / 2);
	lateness_read(&l, &d, &p99);
	assert_int_equal(d.n, COUNT + 2);
	assert_true(d.min == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rtcp_build_full_compound),
		cmocka_unit_test(test_rtcp_build_a_block_for_each_source),
		cmocka_unit_test(test_rtcp_build_every_cname_length_reads_back),
		cmocka_unit_test(test_rtcp_interval_follows_the_rules),
		cmocka_unit_test(test_delay_of_any_age),
		cmocka_unit_test(test_lateness_within_one_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
