#include "control/cli/client/fields.h"

#include "control/cli/common/exit_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const known[] = {"report.mode", "callback_url", NULL};

static int check(const char *path)
{
	json_t *fields = json_pack("{s:s}", path, "1");
	int status = fields_check_paths(fields, known);

	json_decref(fields);
	return status;
}

static void test_paths(void **state)
{
	static const char *const right[] = {
		"step.0.0.regexpire", "step.1.9999.max_total_calls",
		"step.1.0.a.b",       "condition.caller.caller-mos-conditions",
		"report.mode",        "callback_url",
	};
	static const char *const wrong[] = {
		"step",
		"step.",
		"step.0",
		"step.0.",
		"step.0.1",
		"step.0.1.",
		"step.a.0.x",
		"step.0.-1.x",
		"step.0.10000.x",
		"step..0.x",
		"step.0.0x.y",
		"condition.",
		"condition.caller",
		"condition.caller.",
		"condition..type",
		"report",
		"report.modes",
		"steps.0.0.x",
		"Step.0.0.x",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		if (check(right[i]))
			fail_msg("%s is refused", right[i]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (check(wrong[i]) != CLI_EXIT_USAGE)
			fail_msg("%s is accepted", wrong[i]);
}

static void test_values(void **state)
{
	char path[] = "/tmp/test-fields-XXXXXX", file[60], password[60];
	int fd = mkstemp(path);
	char *given[] = {(char[]){"a=1=2"}, (char[]){"b="}, (char[]){"a=3"},
			 file, password};
	json_t *fields = json_object();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "one\ntwo", 7), 7);
	close(fd);
	snprintf(file, sizeof(file), "step.0.0.x=@%s", path);
	snprintf(password, sizeof(password), "caller.password=@%s", path);
	assert_int_equal(fields_read(fields, given, 5), 0);
	unlink(path);
	assert_string_equal(json_string_value(json_object_get(fields, "a")),
			    "3");
	assert_string_equal(json_string_value(json_object_get(fields, "b")),
			    "");
	assert_string_equal(
		json_string_value(json_object_get(fields, "step.0.0.x")),
		"one\ntwo");
	assert_string_equal(
		json_string_value(json_object_get(fields, "caller.password")),
		"one");
	json_decref(fields);
}

static void test_wrong_values(void **state)
{
	char name[300];
	char *wrong[] = {(char[]){"a"}, (char[]){"=1"},
			 (char[]){"a=@/nowhere/file"}, (char[]){"a=\xff"},
			 name};

	(void)state;
	memset(name, 'n', sizeof(name));
	strcpy(name + sizeof(name) - 3, "=1");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		json_t *fields = json_object();

		assert_int_equal(fields_read(fields, &wrong[i], 1),
				 CLI_EXIT_USAGE);
		assert_int_equal(json_object_size(fields), 0);
		json_decref(fields);
	}
}

/* @return of fields_read() with a file of this size */
static int read_size(size_t size)
{
	char path[] = "/tmp/test-fields-XXXXXX", given[60];
	char *arguments[] = {given}, *content = malloc(size);
	json_t *fields = json_object();
	int fd = mkstemp(path);
	int status;

	assert_true(fd >= 0);
	assert_non_null(content);
	memset(content, 'x', size);
	assert_int_equal(write(fd, content, size), size);
	close(fd);
	free(content);
	snprintf(given, sizeof(given), "a=@%s", path);
	status = fields_read(fields, arguments, 1);
	unlink(path);
	assert_int_equal(json_string_length(json_object_get(fields, "a")),
			 status ? 0 : size);
	json_decref(fields);
	return status;
}

static void test_size_of_a_file(void **state)
{
	(void)state;
	assert_int_equal(read_size(1 << 20), 0);
	assert_int_equal(read_size((1 << 20) + 1), CLI_EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_size_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
