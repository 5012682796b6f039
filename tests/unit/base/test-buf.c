#include "base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_buf_grows_and_consumes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_print(&b, "%04d", i), 0);
	assert_int_equal(b.used, 4000);
	buf_consume(&b, 3996);
	assert_string_equal(b.data, "0999");
	buf_release(&b);
	assert_null(b.data);
}

static void test_buf_ceiling_refuses_and_keeps(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	assert_int_equal(buf_add(&b, "123", 3), 0);
	assert_int_equal(buf_add(&b, "45", 2), -EMSGSIZE);
	assert_int_equal(buf_print(&b, "%d", 45), -EMSGSIZE);
	assert_string_equal(b.data, "123");
	assert_int_equal(buf_add(&b, "4", 1), 0);
	assert_string_equal(b.data, "1234");
	buf_release(&b);
}

static void test_buf_texts_append_and_stop_at_the_ceiling(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 6);
	assert_int_equal(buf_texts(&b, "a", "", "bc", NULL), 0);
	assert_string_equal(b.data, "abc");
	assert_int_equal(buf_texts(&b, "d", "efg", "h", NULL), -EMSGSIZE);
	assert_string_equal(b.data, "abcd");
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf_grows_and_consumes),
		cmocka_unit_test(test_buf_ceiling_refuses_and_keeps),
		cmocka_unit_test(test_buf_texts_append_and_stop_at_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
