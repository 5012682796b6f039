#include "control/cli/command/commands.h"

#include "control/cli/client/record_kinds.h"
#include "control/cli/common/terminal.h"
#include "control/cli/remote_commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCREEN_LINES   24
#define SCREEN_COLUMNS 80

/* A page must fit a screen, with one line left for the prompt. */
static void assert_fits(const char *what, const char *text)
{
	int lines = 0;

	for (const char *line = text; *line; lines++) {
		size_t len = strcspn(line, "\n");

		if (len > SCREEN_COLUMNS)
			fail_msg("%s: %.*s", what, (int)len, line);
		line += len + (line[len] == '\n');
	}
	if (lines == 0 || lines > SCREEN_LINES)
		fail_msg("%s has %d lines", what, lines);
}

static char *page(const struct command *c, const struct command_verb *v)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (c)
		command_help(out, c, v);
	else
		command_overview(out);
	fclose(out);
	return text;
}

static void test_help_fits_a_screen(void **state)
{
	char *text = page(NULL, NULL);

	(void)state;
	assert_fits("overview", text);
	free(text);
	for (const struct command *c = command_table; c->name; c++) {
		text = page(c, NULL);
		assert_fits(c->name, text);
		free(text);
		for (const struct command_verb *v = c->verbs; v && v->name;
		     v++) {
			text = page(c, v);
			assert_fits(c->name, text);
			assert_non_null(strstr(text, v->summary));
			free(text);
		}
	}
}

static void test_every_remote_verb_is_done_by_something(void **state)
{
	static const char shared[] =
		" list show create edit update delete enable disable ";

	(void)state;
	for (const struct command *c = command_table; c->name; c++) {
		if (!c->program)
			continue;
		if (!c->verbs && !remote_verb_find(c->name, NULL))
			fail_msg("nothing does %s", c->name);
		for (const struct command_verb *v = c->verbs; v && v->name;
		     v++) {
			char word[40];

			snprintf(word, sizeof(word), " %s ", v->name);
			if (!remote_verb_find(c->name, v->name) &&
			    !(record_kind_find(c->name) &&
			      strstr(shared, word)))
				fail_msg("nothing does %s %s", c->name,
					 v->name);
		}
	}
}

static void test_command_behind_shared_options(void **state)
{
	const char *argv[] = {"offhook", "--url", "schedule",
			      "--json",  "agent", "list"};

	(void)state;
	assert_int_equal(command_index(6, argv), 4);
	assert_int_equal(command_index(1, argv), 0);
}

static void test_help_is_no_argument_after_the_end_of_options(void **state)
{
	const char *asked[] = {"offhook", "agent", "-h"};
	const char *value[] = {"offhook", "agent", "--", "-h"};

	(void)state;
	assert_true(command_help_asked(3, asked));
	assert_false(command_help_asked(4, value));
}

static void test_text_for_the_terminal(void **state)
{
	static const struct {
		const char *text, *printed;
		size_t columns;
	} cases[] = {
		{"plain", "plain", 0},
		{"\x1b[2Jx\n", "?[2Jx?", 0},
		{"\xc2\x9b"
		 "2J",
		 "?2J", 0}, /* 8-bit CSI */
		{"a\xe2\x80\xae"
		 "b",
		 "a?b", 0},       /* U+202E */
		{"\xc3", "?", 0}, /* cut character */
		{"f\xc3\xbc"
		 "nf",
		 "f\xc3\xbc"
		 "nf",
		 4},
		{"f\xc3\xbc"
		 "nf",
		 "f\xc3\xbc\xe2\x80\xa6", 3},
		{"", "", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		terminal_print(out, cases[i].text, cases[i].columns);
		fclose(out);
		assert_string_equal(text, cases[i].printed);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help_fits_a_screen),
		cmocka_unit_test(test_every_remote_verb_is_done_by_something),
		cmocka_unit_test(test_command_behind_shared_options),
		cmocka_unit_test(
			test_help_is_no_argument_after_the_end_of_options),
		cmocka_unit_test(test_text_for_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
