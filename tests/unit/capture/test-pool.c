#include "capture/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 1000
#define BYTES  11000

static bool is_filled(const uint8_t *p, uint8_t with)
{
	for (size_t i = 0; i < BYTES; i++) {
		if (p[i] != with)
			return false;
	}
	return true;
}

static void take_all(struct pool *p, uint8_t *block[BLOCKS])
{
	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = pool_take(p);
		assert_non_null(block[i]);
		assert_int_equal((uintptr_t)block[i] % 64, 0);
		assert_true(is_filled(block[i], 0));
		memset(block[i], (uint8_t)i, BYTES);
	}
	/* no block overlaps another */
	for (size_t i = 0; i < BLOCKS; i++)
		assert_true(is_filled(block[i], (uint8_t)i));
}

static void test_blocks_are_zero_and_apart(void **state)
{
	static uint8_t *block[BLOCKS];
	struct pool p;

	(void)state;
	pool_init(&p, BYTES);
	assert_int_equal(p.block_bytes % 128, 64);
	take_all(&p, block);
	pool_release(&p);
	/* and once more, starting from none */
	take_all(&p, block);
	pool_release(&p);
}

static void test_blocks_given_back_are_used_again(void **state)
{
	static uint8_t *block[BLOCKS];
	static uint8_t *again[BLOCKS];
	struct pool p;
	const struct pool_slab *slab;

	(void)state;
	pool_init(&p, BYTES);
	take_all(&p, block);
	slab = p.slab;
	for (size_t i = 0; i < BLOCKS; i++)
		pool_give(&p, block[i]);
	pool_give(&p, NULL);
	take_all(&p, again);
	assert_ptr_equal(p.slab, slab); /* no new memory was allocated */
	for (size_t i = 0; i < BLOCKS; i++)
		assert_ptr_equal(again[i], block[BLOCKS - 1 - i]);
	pool_release(&p);
}

static void test_large_blocks(void **state)
{
	struct pool p;

	(void)state;
	pool_init(&p, 1 << 20);
	for (int i = 0; i < 5; i++) {
		void *block = pool_take(&p);

		assert_non_null(block);
		memset(block, 1, 1 << 20);
	}
	pool_release(&p);
}

static void test_maps_of_any_size(void **state)
{
	static const size_t sizes[] = {1,       4096,    5000,
				       2097151, 2097152, 5000000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *p = pool_map(sizes[i]);

		assert_non_null(p);
		assert_int_equal(p[0] | p[sizes[i] / 2] | p[sizes[i] - 1], 0);
		memset(p, 1, sizes[i]);
		pool_unmap(p, sizes[i]);
	}
	pool_unmap(NULL, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_zero_and_apart),
		cmocka_unit_test(test_blocks_given_back_are_used_again),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_maps_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
