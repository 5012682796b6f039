#include "base/ring.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_ring_size_must_be_power_of_two(void **state)
{
	struct ring *r;

	(void)state;
	assert_int_equal(ring_new(&r, 8, 0), -EINVAL);
	assert_int_equal(ring_new(&r, 8, 3), -EINVAL);
	assert_int_equal(ring_new(&r, 0, 4), -EINVAL);
}

static void test_ring_full_refuses_newest(void **state)
{
	struct ring *r;
	uint64_t v;

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(v), 4), 0);
	assert_false(ring_pop(r, &v));
	for (v = 0; v < 6; v++)
		assert_int_equal(ring_push(r, &v), v < 4);
	assert_int_equal(ring_dropped(r), 2);
	for (uint64_t want = 0; want < 4; want++) {
		assert_true(ring_pop(r, &v));
		assert_int_equal(v, want);
	}
	assert_false(ring_pop(r, &v));
	ring_free(r);
}

/* At every position of the ring, also where its end wraps to its start. */
static void test_ring_ahead_is_what_comes(void **state)
{
	struct ring *r;
	uint64_t pushed = 0;

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(pushed), 8), 0);
	for (uint64_t oldest = 0; oldest < 20; oldest++) {
		while (pushed < oldest + 5 && ring_push(r, &pushed))
			pushed++;
		assert_int_equal(*(const uint64_t *)ring_front(r), oldest);
		for (uint64_t k = 0; k < 10; k++) {
			const uint64_t *at = ring_ahead(r, k);

			if (at)
				assert_int_equal(*at, oldest + k);
			assert_true(at ? k < 5 : k > 0);
		}
		ring_release(r);
	}
	ring_free(r);
}

/*
 * Looking ahead does not show records that the producer added after the
 * consumer last looked.
 */
static void test_ring_ahead_of_news(void **state)
{
	struct ring *r;
	uint64_t v = 0;

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(v), 4), 0);
	ring_push(r, &v);
	assert_non_null(ring_front(r));
	v = 1;
	ring_push(r, &v);
	assert_null(ring_ahead(r, 1));
	ring_release(r);
	assert_non_null(ring_front(r));
	assert_int_equal(*(const uint64_t *)ring_ahead(r, 0), 1);
	ring_free(r);
}

struct big {
	uint64_t value;
	uint8_t rest[1016];
};

#define BIG_RECORDS 256 /* 16 blocks */

/* Wherever the oldest record lies in its block, all places can be filled. */
static void test_ring_full_at_every_position(void **state)
{
	struct ring *r;
	struct big v = {0};

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(v), BIG_RECORDS), 0);
	for (uint64_t first = 0; first < 2 * BIG_RECORDS; first++) {
		struct big popped;

		for (uint64_t k = 0; k < BIG_RECORDS; k++) {
			v.value = first + k;
			assert_true(ring_push(r, &v));
		}
		assert_false(ring_push(r, &v));
		for (uint64_t k = 0; k < BIG_RECORDS; k++) {
			assert_true(ring_pop(r, &popped));
			assert_int_equal(popped.value, first + k);
		}
		/* one position further */
		assert_true(ring_push(r, &v));
		assert_true(ring_pop(r, &popped));
	}
	ring_free(r);
}

/* @return number of different blocks in which `records` records were written,
 *         of which `waiting` wait at a time */
static size_t blocks_written(struct ring *r, size_t records, uint64_t waiting)
{
	const uint8_t *low = NULL;
	const uint8_t *high = NULL;
	uint64_t pushed = 0;

	for (size_t i = 0; i < records; i++) {
		struct big v = {.value = i};
		const uint8_t *at = ring_reserve(r);

		assert_non_null(at);
		/* it is the same place until it is committed */
		assert_ptr_equal(ring_reserve(r), at);
		low = !low || at < low ? at : low;
		high = !high || at > high ? at : high;
		assert_true(ring_push(r, &v));
		if (++pushed <= waiting)
			continue;
		assert_true(ring_pop(r, &v));
		assert_int_equal(v.value, i - waiting);
	}
	return (size_t)(high - low) / RING_BLOCK_BYTES + 1;
}

/* The memory in use follows the records that wait, not the places. */
static void test_ring_uses_blocks_again(void **state)
{
	struct ring *r;

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(struct big), BIG_RECORDS), 0);
	assert_int_equal(blocks_written(r, 4 * BIG_RECORDS, 0), 1);
	ring_free(r);
	assert_int_equal(ring_new(&r, sizeof(struct big), BIG_RECORDS), 0);
	assert_int_equal(blocks_written(r, 4 * BIG_RECORDS, 40), 4);
	ring_free(r);
}

#define STRESS_RECORDS 2000000

static void *produce(void *arg)
{
	for (uint64_t v = 0; v < STRESS_RECORDS; v++)
		ring_push(arg, &v);
	return NULL;
}

static void test_ring_two_threads_account_exactly(void **state)
{
	struct ring *r;
	pthread_t producer;
	uint64_t received = 0;
	uint64_t next = 0;
	uint64_t v;

	(void)state;
	assert_int_equal(ring_new(&r, sizeof(v), 1024), 0);
	pthread_create(&producer, NULL, produce, r);
	while (received + ring_dropped(r) < STRESS_RECORDS) {
		if (!ring_pop(r, &v))
			continue;
		assert_true(v >= next);
		next = v + 1;
		received++;
	}
	pthread_join(producer, NULL);
	while (ring_pop(r, &v))
		received++;
	assert_int_equal(received + ring_dropped(r), STRESS_RECORDS);
	ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_size_must_be_power_of_two),
		cmocka_unit_test(test_ring_full_refuses_newest),
		cmocka_unit_test(test_ring_ahead_is_what_comes),
		cmocka_unit_test(test_ring_ahead_of_news),
		cmocka_unit_test(test_ring_full_at_every_position),
		cmocka_unit_test(test_ring_uses_blocks_again),
		cmocka_unit_test(test_ring_two_threads_account_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
