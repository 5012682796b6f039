#include "base/wiped_memory.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "correct horse battery"

/* The linker gives the program's calls of free() to this (--wrap). */
void __real_free(void *p);
void __wrap_free(void *p);

static size_t freed_count;
static bool secret_freed;
static const char *watched; /* memory of sizeof(SECRET) bytes, or NULL */

void __wrap_free(void *p)
{
	freed_count++;
	if (watched && p == watched && memcmp(p, SECRET, sizeof(SECRET)) == 0)
		secret_freed = true;
	__real_free(p);
}

static int begin(void **state)
{
	(void)state;
	freed_count = 0;
	secret_freed = false;
	watched = NULL;
	return 0;
}

static void test_plain_free_is_seen(void **state)
{
	char *p = strdup(SECRET); /* a store before free() would be left out */

	(void)state;
	assert_non_null(p);
	watched = p;
	free(p);
	assert_true(secret_freed);
}

static void test_freed_memory_is_wiped(void **state)
{
	char *p = strdup(SECRET);

	(void)state;
	assert_string_equal(p, SECRET);
	watched = p;
	wiped_free(p);
	assert_int_equal(freed_count, 1);
	assert_false(secret_freed);
	wiped_free(NULL);
	assert_int_equal(freed_count, 1);
}

static void test_memory_that_moves_is_wiped(void **state)
{
	char *p = malloc(sizeof(SECRET));
	char *moved;

	(void)state;
	assert_non_null(p);
	memcpy(p, SECRET, sizeof(SECRET));
	watched = p;
	moved = wiped_realloc(p, 1 << 20);
	assert_non_null(moved);
	assert_int_equal(freed_count, 1);
	assert_false(secret_freed);
	assert_string_equal(moved, SECRET);
	wiped_free(moved);
}

static void test_realloc_begins_and_shrinks(void **state)
{
	char *p = wiped_realloc(NULL, 4);

	(void)state;
	assert_non_null(p);
	memcpy(p, "abc", 4);
	p = wiped_realloc(p, 2);
	assert_non_null(p);
	assert_memory_equal(p, "ab", 2);
	wiped_free(p);
}

static void test_buffer_of_secrets(void **state)
{
	struct buf b;

	(void)state;
	buf_init_secret(&b, 1 << 20);
	assert_int_equal(buf_add(&b, SECRET, sizeof(SECRET)), 0);
	watched = b.data;
	for (int i = 0; i < 1000; i++) /* it grows */
		assert_int_equal(buf_add(&b, SECRET, sizeof(SECRET)), 0);
	assert_true(freed_count > 0);
	assert_false(secret_freed);
	buf_consume(&b, 1000 * sizeof(SECRET));
	assert_string_equal(b.data, SECRET);
	for (size_t i = b.used; i < b.allocated && i < 1000 * sizeof(SECRET);
	     i++)
		assert_int_equal(b.data[i], 0);
	watched = b.data;
	buf_release(&b);
	assert_false(secret_freed);
	assert_true(b.secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plain_free_is_seen, begin),
		cmocka_unit_test_setup(test_freed_memory_is_wiped, begin),
		cmocka_unit_test_setup(test_memory_that_moves_is_wiped, begin),
		cmocka_unit_test_setup(test_realloc_begins_and_shrinks, begin),
		cmocka_unit_test_setup(test_buffer_of_secrets, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
