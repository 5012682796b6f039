#include "capture/capture.h"
#include "capture/chain_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int collect(const void *record, void *arg)
{
	strncat(arg, record, 1);
	return 0;
}

/* Two lists in one file; what is above the ceiling is counted. */
static void test_lists(void **state)
{
	struct chain_file file;
	struct chain odd = {0}, even = {0};
	char text[8];

	(void)state;
	chain_file_init(&file, 1, 5);
	for (const char *c = "1234567"; *c; c++)
		chain_file_add(&file, *c % 2 ? &odd : &even, c);
	assert_int_equal(file.left_out, 2);
	text[0] = '\0';
	assert_int_equal(chain_file_walk(&file, &odd, collect, text), 0);
	assert_string_equal(text, "135");
	text[0] = '\0';
	assert_int_equal(chain_file_walk(&file, &even, collect, text), 0);
	assert_string_equal(text, "24");
	chain_file_release(&file);
}

static void fill(uint64_t max)
{
	struct chain_file file;
	struct chain chain = {0};

	chain_file_init(&file, 1, max);
	for (uint64_t i = 0; i < max; i++)
		chain_file_add(&file, &chain, "");
	assert_true(chain.count == max && file.left_out == 0);
	chain_file_add(&file, &chain, "");
	assert_true(chain.count == max && file.left_out == 1);
	chain_file_release(&file);
}

static void test_intervals_have_a_ceiling(void **state)
{
	(void)state;
	fill(CAPTURE_INTERVALS_MAX);
}

static void test_reports_have_a_ceiling(void **state)
{
	(void)state;
	fill(CAPTURE_REPORTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_intervals_have_a_ceiling),
		cmocka_unit_test(test_reports_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
