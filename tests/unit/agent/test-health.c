#include "agent/supervisor/health.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static struct temp temp;

static int make_dir(void **state)
{
	(void)state;
	temp_make(&temp);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	temp_remove(&temp);
	return 0;
}

/* As health_note(), at another time. */
static void note(long ago_s)
{
	FILE *f = fopen(temp_path(&temp, "last-poll"), "w");
	struct timespec now;

	assert_non_null(f);
	clock_gettime(CLOCK_BOOTTIME, &now);
	fprintf(f, "%19ld\n", (long)now.tv_sec - ago_s);
	assert_int_equal(fclose(f), 0);
}

static int check(void)
{
	char text[128];

	return health_check(temp.dir, text, sizeof(text));
}

static void test_noted_and_forgotten(void **state)
{
	(void)state;
	assert_int_equal(check(), -ENOENT);
	health_note(temp.dir);
	assert_int_equal(check(), 0);
	health_forget(temp.dir);
	assert_int_equal(check(), -ENOENT);
}

static void test_silent_for_too_long(void **state)
{
	(void)state;
	note(HEALTH_SILENT_S / 2);
	assert_int_equal(check(), 0);
	note(HEALTH_SILENT_S + 1);
	assert_int_equal(check(), -ETIMEDOUT);
}

static void test_noted_before_the_machine_was_started(void **state)
{
	(void)state;
	note(-3600);
	assert_int_equal(check(), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_noted_and_forgotten,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_silent_for_too_long,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			test_noted_before_the_machine_was_started, make_dir,
			remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
