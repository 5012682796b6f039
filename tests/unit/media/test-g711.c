#include "media/audio/g711.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_g711_every_code_returns(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++) {
		uint8_t c = (uint8_t)code;
		/* mu-law has two zeros; the negative one is never sent */
		uint8_t want = c == 0x7f ? 0xff : c;

		assert_int_equal(g711_pcmu_encode(g711_pcmu_decode(c)), want);
		assert_int_equal(g711_pcma_encode(g711_pcma_decode(c)), c);
	}
}

/*
 * Decoder outputs of G.711 tables 1 and 2, as 16-bit samples (4 times the
 * 14-bit value of mu-law, 8 times the 13-bit value of A-law).
 */
static void test_g711_values_of_the_tables(void **state)
{
	static const struct {
		uint8_t code;
		int16_t sample;
	} mu[] = {
		{0x80, 4 * 8031}, {0x8f, 4 * 4191},  {0x9f, 4 * 2079},
		{0xaf, 4 * 1023}, {0xbf, 4 * 495},   {0xcf, 4 * 231},
		{0xdf, 4 * 99},   {0xef, 4 * 33},    {0xfe, 4 * 2},
		{0xff, 0},        {0x00, -4 * 8031}, {0x7e, -4 * 2},
	};
	/* before the inversion of the even bits */
	static const struct {
		uint8_t code;
		int16_t sample;
	} a[] = {
		{0xff, 8 * 4032},  {0xf0, 8 * 2112}, {0xe0, 8 * 1056},
		{0xd0, 8 * 528},   {0xc0, 8 * 264},  {0xb0, 8 * 132},
		{0xa0, 8 * 66},    {0x90, 8 * 33},   {0x80, 8 * 1},
		{0x7f, -8 * 4032}, {0x00, -8 * 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mu) / sizeof(mu[0]); i++)
		assert_int_equal(g711_pcmu_decode(mu[i].code), mu[i].sample);
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		assert_int_equal(g711_pcma_decode(a[i].code ^ 0x55),
				 a[i].sample);
}

/*
 * Every input is within half a step of its code's output: the output is the
 * middle of the interval (mu-law clips above its last decision value).
 */
static void test_g711_error_is_half_a_step(void **state)
{
	(void)state;
	for (int x = INT16_MIN; x <= INT16_MAX; x++) {
		uint8_t mu = g711_pcmu_encode((int16_t)x);
		uint8_t a = g711_pcma_encode((int16_t)x);
		int mu_step = 8 << (~mu >> 4 & 7);
		int a_segment = (a ^ 0x55) >> 4 & 7;
		int a_step = 16 << (a_segment > 0 ? a_segment - 1 : 0);

		if (abs(x) < 4 * 8159)
			assert_true(2 * abs(g711_pcmu_decode(mu) - x) <=
				    mu_step);
		assert_true(2 * abs(g711_pcma_decode(a) - x) <= a_step);
	}
}

/* Decision values at the ends of the segments (tables 1 and 2). */
static void test_g711_segments_end_where_the_tables_say(void **state)
{
	static const int mu[] = {4063, 2015, 991, 479, 223, 95, 31};
	static const int a[] = {2048, 1024, 512, 256, 128, 64};

	(void)state;
	for (int i = 0; i < 7; i++) {
		int code = 0x8f + 0x10 * i;

		assert_int_equal(g711_pcmu_encode((int16_t)(4 * mu[i])), code);
		assert_int_equal(g711_pcmu_encode((int16_t)(4 * mu[i] - 1)),
				 code + 1);
	}
	for (int i = 0; i < 6; i++) {
		int code = 0xf0 - 0x10 * i;

		assert_int_equal(g711_pcma_encode((int16_t)(8 * a[i])) ^ 0x55,
				 code);
		assert_int_equal(g711_pcma_encode((int16_t)(8 * a[i] - 1)) ^
					 0x55,
				 code - 1);
	}
}

static void test_g711_block_is_sample_by_sample(void **state)
{
	const int16_t src[] = {0, -1, 1000, -1000, INT16_MAX, INT16_MIN};
	uint8_t dst[6];

	(void)state;
	g711_encode_block(G711_PCMU, dst, src, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(dst[i], g711_pcmu_encode(src[i]));
	g711_encode_block(G711_PCMA, dst, src, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(dst[i], g711_pcma_encode(src[i]));
	assert_int_equal(g711_pcmu_encode(0), 0xff);
	assert_int_equal(g711_pcma_encode(0), 0xd5);
	assert_int_equal(g711_pcmu_encode(INT16_MAX), 0x80);
	assert_int_equal(g711_pcmu_encode(INT16_MIN), 0x00);
	assert_int_equal(g711_pcma_encode(INT16_MAX), 0xaa);
	assert_int_equal(g711_pcma_encode(INT16_MIN), 0x2a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_g711_every_code_returns),
		cmocka_unit_test(test_g711_values_of_the_tables),
		cmocka_unit_test(test_g711_error_is_half_a_step),
		cmocka_unit_test(test_g711_segments_end_where_the_tables_say),
		cmocka_unit_test(test_g711_block_is_sample_by_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
