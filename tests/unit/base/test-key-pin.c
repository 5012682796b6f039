#include "base/key_pin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define A43 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void test_shape(void **state)
{
	(void)state;
	assert_true(key_pin_valid("sha256//" A43 "="));
	assert_true(key_pin_valid(
		"sha256//vMA8I8sTUy+z9O7zHeoZnrtOBVcv/Csxd2qJUrd9wFM="));
	assert_false(key_pin_valid(""));
	assert_false(key_pin_valid("sha256//"));
	assert_false(key_pin_valid("sha256//" A43));
	assert_false(key_pin_valid("sha256//" A43 "A="));
	assert_false(key_pin_valid("sha256//" A43 "=="));
	assert_false(key_pin_valid("sha256//" A43 "=;sha256//" A43 "="));
	assert_false(key_pin_valid("SHA256//" A43 "="));
	assert_false(key_pin_valid(A43 "="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
