/* Blocks of points: what is stored comes back bit for bit, and nothing else is accepted. */
#include "control/server/store/point_block.h"

#include "base/buf.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json_text sketch(const char *text)
{
	return (struct json_text){text, strlen(text)};
}

static struct series_point point(int64_t t_s, uint64_t n, double first)
{
	return (struct series_point){.t_s = t_s,
				     .d = {.n = n,
					   .min = first,
					   .max = first * 9,
					   .avg = first * 3,
					   .median = first * 2,
					   .p75 = first * 5,
					   .p90 = first * 7,
					   .p95 = first * 8,
					   .stddev = first / 3}};
}

/* Bits, not numbers: -0, NaN. */
static void assert_same(const struct series_point *a,
			const struct series_point *b)
{
	assert_int_equal(a->t_s, b->t_s);
	assert_memory_equal(&a->d, &b->d, sizeof(a->d));
	assert_int_equal(a->sketch.at != NULL, b->sketch.at != NULL);
	assert_int_equal(a->sketch.len, b->sketch.len);
	if (a->sketch.len)
		assert_memory_equal(a->sketch.at, b->sketch.at, a->sketch.len);
}

static void assert_comes_back(const struct series_point *points, size_t count)
{
	struct point_block block;
	struct point_group group;
	struct series_point p;
	struct buf b;

	buf_init(&b, POINT_BLOCK_BYTES_MAX);
	assert_int_equal(point_block_begin(&b), 0);
	assert_int_equal(point_block_add(&b, 7, points, count), 0);
	assert_int_equal(point_block_add(&b, INT64_MAX, points, 1), 0);
	assert_int_equal(point_block_open(&block, b.data, b.used), 0);
	assert_int_equal(point_block_next(&block, &group), 1);
	assert_int_equal(group.series_id, 7);
	assert_int_equal(group.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(point_group_next(&group, &p), 1);
		assert_same(&p, &points[i]);
	}
	assert_int_equal(point_group_next(&group, &p), 0);
	assert_int_equal(point_block_next(&block, &group), 1);
	assert_true(group.series_id == INT64_MAX);
	assert_int_equal(point_block_next(&block, &group), 0);
	assert_int_equal(point_block_check(b.data, b.used, 0), count + 1);
	assert_int_equal(point_block_check(b.data, b.used, 7), -EBADMSG);
	buf_release(&b);
}

static void test_points_come_back(void **state)
{
	struct series_point p[8] = {
		point(1700000000, 10, 0.1),
		point(1700000010, 1, 4.4094),
		point(0, UINT64_MAX, DBL_MIN / 2), /* earlier, and denormal */
		point(INT64_MAX, 1, DBL_MAX / 16),
		point(INT64_MIN, 0, -1),
		{.t_s = 5, .d = {.n = 3}},
		{.t_s = 5, .d = {.n = 3, .min = -0.0, .max = 0.0}},
		{.t_s = 6,
		 .d = {.n = 3, .min = NAN, .max = INFINITY, .avg = -INFINITY}},
	};

	(void)state;
	p[1].sketch = sketch("{\"pos\" : [[1,2.50]]}");
	p[5].sketch = sketch("");
	assert_comes_back(p, 8);
}

/* The layout is that of the files that are stored. */
static void test_layout(void **state)
{
	static const uint8_t expected[] = {
		1,                    /* version */
		0xac, 2,    2,    19, /* series 300, 2 points, 19 bytes */
		20,   3,    0x02,     /* t 10, n 3; from min on: 1.0 */
		0,    0,    0,    0,  0, 0,   0xf0, 0x3f, 0, /* no sketch */
		3,    0x80, 1,    0,  3, '{', '}', /* t 8, n 128, all 0, a sketch */
	};
	struct series_point p[2] = {
		{.t_s = 10, .d = {3, 1, 1, 1, 1, 1, 1, 1, 0}},
		{.t_s = 8, .d = {.n = 128}, .sketch = sketch("{}")},
	};
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	assert_int_equal(point_block_begin(&b), 0);
	assert_int_equal(point_block_add(&b, 300, p, 2), 0);
	assert_int_equal(b.used, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
	assert_int_equal(point_block_check(expected, sizeof(expected), 300), 2);
	buf_release(&b);
}

static void test_cut_anywhere_it_is_refused(void **state)
{
	struct series_point p[3] = {point(1, 2, 3), point(4, 5, 6),
				    point(7, 8, 9)};
	struct buf b;

	(void)state;
	p[1].sketch = sketch("{\"n\":[]}");
	buf_init(&b, 1000);
	assert_int_equal(point_block_begin(&b), 0);
	assert_int_equal(point_block_add(&b, 1, p, 3), 0);
	for (size_t len = 0; len < b.used; len++) {
		/* of its own length, so that a sanitizer sees a read behind it */
		char *cut = malloc(len + 1);

		memcpy(cut + 1, b.data, len);
		assert_int_equal(point_block_check(cut + 1, len, 1), -EBADMSG);
		free(cut);
	}
	assert_int_equal(point_block_check(b.data, b.used, 1), 3);
	buf_release(&b);
}

#define REFUSED(...)                                                         \
	do {                                                                 \
		const uint8_t bytes[] = {__VA_ARGS__};                       \
		assert_int_equal(point_block_check(bytes, sizeof(bytes), 0), \
				 -EBADMSG);                                  \
	} while (0)

static void test_what_is_refused(void **state)
{
	(void)state;
	REFUSED(0); /* another version */
	REFUSED(2, 1, 1, 4, 0, 1, 0, 0);
	REFUSED(1);                         /* no group */
	REFUSED(1, 0, 1, 4, 0, 1, 0, 0);    /* series 0 */
	REFUSED(1, 1, 0, 0);                /* no point */
	REFUSED(1, 1, 2, 4, 0, 1, 0, 0);    /* more points than bytes */
	REFUSED(1, 1, 1, 5, 0, 1, 0, 0);    /* more bytes than there are */
	REFUSED(1, 1, 1, 5, 0, 1, 0, 0, 0); /* bytes behind the points */
	REFUSED(1, 1, 1, 4, 0, 1, 0, 2); /* a sketch that goes on behind it */
	REFUSED(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1,
		4, 0, 1, 0, 0); /* series above 63 bits */
	REFUSED(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1,
		4, 0, 1, 0, 0); /* above 64 bits */
	REFUSED(1, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0, 1, 4, 0, 1, 0, 0); /* a number of 11 bytes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points_come_back),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_cut_anywhere_it_is_refused),
		cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
