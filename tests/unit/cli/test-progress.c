#include "control/cli/run/progress.h"

#include "control/cli/common/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *line(const struct progress *p, size_t columns, size_t *ret)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*ret = progress_print(out, p, columns);
	fclose(out);
	return text;
}

static void test_widths(void **state)
{
	static const struct {
		double done;
		int64_t elapsed_s;
		size_t columns;
		const char *line;
	} cases[] = {
		{0.5, 67, 80,
		 "[#############-------------]  50 %  01:07  running"},
		{0.5, 67, 40, "[#######------]  50 %  01:07  running"},
		{0.5, 67, 34, "[######-----]  50 %  01:07"},
		{0.5, 67, 25, " 50 %  01:07  running"},
		{0.5, 67, 20, " 50 %  01:07"},
		{0.5, 67, 13, " 50 %  01:07"},
		{0.5, 67, 12, " 50 %"},
		{0.5, 67, 6, " 50 %"},
		{0.5, 67, 5, ""},
		{0.5, 67, 1, ""},
		{0, 0, 25, "  0 %  00:00  running"},
		{1, 3599, 25, "100 %  59:59  running"},
		{1, 3600, 30, "100 %  1:00:00  running"},
		{-1, 0, 13, "  0 %  00:00"},
		{7, 0, 13, "100 %  00:00"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct progress p = {cases[i].done, cases[i].elapsed_s,
				     "running"};
		size_t used;
		char *text = line(&p, cases[i].columns, &used);

		assert_string_equal(text, cases[i].line);
		assert_int_equal(used, terminal_columns(text));
		free(text);
	}
}

static void test_every_width_is_kept(void **state)
{
	const struct progress p = {
		.done = 0.999,
		.elapsed_s = 360000,
		.text = "attempt 3 höre \x1b[2J eine lange Erklärung, die "
			"nirgends Platz hat, auch nicht auf einem Bildschirm",
	};

	(void)state;
	for (size_t columns = 1; columns < 300; columns++) {
		size_t used;
		char *text = line(&p, columns, &used);

		assert_true(used < columns);
		assert_int_equal(used, terminal_columns(text));
		assert_null(strchr(text, 0x1b));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_every_width_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
