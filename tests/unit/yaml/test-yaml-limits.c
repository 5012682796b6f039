/* The limits of yaml_read(): apart from its other tests, as reaching them takes time. */
#include "control/yaml/yaml_read.h"

#include "base/str.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A text of repeated pieces between a head and a tail; the caller frees it. */
static char *repeated(const char *head, const char *piece, size_t times,
		      const char *tail)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fputs(head, out);
	for (size_t i = 0; i < times; i++)
		fputs(piece, out);
	fputs(tail, out);
	fclose(out);
	return text;
}

static void assert_limit(const char *head, const char *piece, size_t taken,
			 const char *reason)
{
	struct yaml_error error;
	struct yaml_file file;
	char *text = repeated(head, piece, taken, "");

	if (yaml_read(text, strlen(text), &file, &error))
		fail_msg("%s: %s", piece, error.reason);
	yaml_file_release(&file);
	free(text);
	text = repeated(head, piece, taken + 1, "");
	assert_int_equal(yaml_read(text, strlen(text), &file, &error), -EINVAL);
	if (!strstr(error.reason, reason))
		fail_msg("%s: %s", piece, error.reason);
	free(text);
}

static void test_limits(void **state)
{
	(void)state;
	assert_limit("", "--- 1\n", YAML_DOCUMENTS_MAX, "1000 documents");
	/* the sequence itself is a value */
	assert_limit("", "- 1\n", YAML_NODES_MAX - 1, "200000 values");
	assert_limit("", "- &a 1\n", YAML_ANCHORS_MAX, "100 anchors");
	/* the lists of dashes nest: [[[...]]] */
	assert_limit("", "- ", YAML_DEPTH_MAX, "32 levels");
}

/* "Billion laughs": a few aliases of aliases are many values. */
static void test_aliases_count_as_what_they_hold(void **state)
{
	char text[2000] = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
	struct yaml_error error;
	struct yaml_file file;
	size_t used = strlen(text);

	(void)state;
	for (int i = 1; i < 7; i++) {
		int len = str_print(
			text + used, sizeof(text) - used,
			"- &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, "
			"*a%d, *a%d, *a%d]\n",
			i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
			i - 1, i - 1, i - 1);

		assert_true(len > 0);
		used += (size_t)len;
	}
	assert_int_equal(yaml_read(text, used, &file, &error), -EINVAL);
	assert_non_null(strstr(error.reason, "aliases included"));
}

/* Each anchor holds the one before it: a few lines would nest by the hundred. */
static void test_aliases_count_as_levels(void **state)
{
	char text[2000] = "- &a1 [x]\n";
	size_t used = strlen(text);
	struct yaml_error error;
	struct yaml_file file;
	int level = 1;

	(void)state;
	do {
		/* the list of the anchors is the first level */
		assert_int_equal(yaml_read(text, used, &file, &error), 0);
		yaml_file_release(&file);
		level++;
		used += (size_t)str_print(text + used, sizeof(text) - used,
					  "- &a%d [*a%d]\n", level, level - 1);
	} while (level < YAML_DEPTH_MAX);
	assert_int_equal(yaml_read(text, used, &file, &error), -EINVAL);
	assert_non_null(strstr(error.reason, "32 levels"));
	assert_int_equal(error.place.line, YAML_DEPTH_MAX);
}

static void test_size_of_a_file(void **state)
{
	char *text = repeated("a: |\n", " 0123456789abcdef0123456789abcd\n",
			      YAML_BYTES_MAX / 32, "");
	struct yaml_error error;
	struct yaml_file file;

	(void)state;
	assert_true(strlen(text) > YAML_BYTES_MAX);
	assert_int_equal(yaml_read(text, strlen(text), &file, &error), -EINVAL);
	assert_non_null(strstr(error.reason, "larger than 4 MiB"));
	/* without the last line it fits: "a: |" and the line are 5 and 32 bytes */
	assert_int_equal(yaml_read(text, strlen(text) - 32, &file, &error), 0);
	yaml_file_release(&file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_aliases_count_as_what_they_hold),
		cmocka_unit_test(test_aliases_count_as_levels),
		cmocka_unit_test(test_size_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
