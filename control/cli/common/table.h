/**
 * Tables of text: whole in a pipe, cut to the width of a terminal. Pure, but for
 * table_width(). Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMON_TABLE_H
#define OFFHOOK_CONTROL_CLI_COMMON_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 16

struct table_column {
	const char *title;
	bool right; /* numbers */
};

/**
 * Print titles and rows, each column as wide as its longest text. What is wider
 * than the terminal is cut, the widest columns first; "…" ends a text that was
 * cut.
 * @param count  of columns, at most TABLE_COLUMNS_MAX
 * @param rows   array of arrays of texts; null and absent ones are shown as "-"
 * @param width  of the terminal; 0: cut nothing
 */
void table_print(FILE *out, const struct table_column *columns, size_t count,
		 const json_t *rows, size_t width);

/** Print a line about one record on standard output: the title, and the text from the
 * eleventh column on, as terminal_print(). Nothing if the text is "". */
void table_member(const char *title, const char *text);

/** Width that table_print() gets: that of a terminal, 0 of anything else. */
size_t table_width(FILE *out);

/** Print a text in lines of at most width columns, broken at spaces; further
 * lines are indented. The first one begins at column `at`.
 * @param width  0: one line */
void table_wrap(FILE *out, const char *text, size_t at, size_t indent,
		size_t width);

#endif
