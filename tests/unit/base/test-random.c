#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY  20000
#define BYTES 2000

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * No block of random bytes is handed out twice. Two of 20 000 numbers of 64
 * bits are equal with a probability of 1e-11.
 */
static void test_random_numbers_differ(void **state)
{
	static uint64_t numbers[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		numbers[i] = random_u64();
		(void)random_u16(); /* so that reads start at any offset of a
				     * block */
		(void)random_u32();
	}
	qsort(numbers, MANY, sizeof(numbers[0]), compare);
	for (int i = 1; i < MANY; i++)
		assert_true(numbers[i] != numbers[i - 1]);
}

/*
 * Every byte is written and none outside. A byte that is zero four times in a
 * row has a probability of 1e-9.
 */
static void test_random_fill_fills_any_size(void **state)
{
	static uint8_t bytes[BYTES + 1];

	(void)state;
	for (size_t size = 0; size <= BYTES; size += 1 + size / 7) {
		bool zero[4] = {true, true, true, true};

		for (int round = 0; round < 4; round++) {
			memset(bytes, 0, sizeof(bytes));
			random_fill(bytes, size);
			assert_int_equal(bytes[size], 0);
			for (int i = 0; i < 4 && size >= 4; i++)
				zero[i] &= bytes[size - 1 - (size_t)i] == 0;
		}
		assert_false(size >= 4 &&
			     (zero[0] || zero[1] || zero[2] || zero[3]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_numbers_differ),
		cmocka_unit_test(test_random_fill_fills_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
