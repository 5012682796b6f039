#include "control/server/http/basic.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_parse_pair(void **state)
{
	struct basic b;

	(void)state;
	/* RFC 7617 section 2 */
	assert_int_equal(basic_parse(&b, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
			 0);
	assert_string_equal(b.user, "Aladdin");
	assert_string_equal(b.password, "open sesame");
	/* the scheme in any case; colons belong to the password */
	assert_int_equal(basic_parse(&b, "bAsIc  YTpiOmM="), 0);
	assert_string_equal(b.user, "a");
	assert_string_equal(b.password, "b:c");
	assert_int_equal(basic_parse(&b, "Basic Og=="), 0);
	assert_string_equal(b.user, "");
	assert_string_equal(b.password, "");
}

static void test_refuse(void **state)
{
	static const char *const bad[] = {"",
					  "Basic",
					  "Basic ",
					  "Bearer YTpi",
					  "BasicYTpi",
					  "Basic YWI=",
					  "Basic YTpi!",
					  "Basic YTpiOmM",
					  "Basic AAA=",
					  "Basic YQA6Yg==",
					  "Basic YTpiAGM=", /* a:b, 0, c */
					  "Basic dTp*cA==",
					  "Basic YTpiCg==",
					  "Basic YTpi YTpi"};
	char large[2 * BASIC_BYTES];
	struct basic b;

	(void)state;
	assert_int_equal(basic_parse(&b, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(basic_parse(&b, bad[i]), -EINVAL);
	memset(large, 'A', sizeof(large));
	memcpy(large, "Basic ", 6);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(basic_parse(&b, large), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_pair),
		cmocka_unit_test(test_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
