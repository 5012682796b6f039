#include "control/cli/common/table.h"

#include "control/cli/common/terminal.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define GAP       2 /* between columns */
#define WIDTH_MIN 3 /* of a column that is cut */

static const char *cell_of(const json_t *row, size_t column)
{
	const char *text = json_string_value(json_array_get(row, column));

	return text ? text : "-";
}

static size_t total_of(const size_t *widths, size_t count)
{
	size_t total = (count - 1) * GAP;

	for (size_t c = 0; c < count; c++)
		total += widths[c];
	return total;
}

/* Cut the widest columns until all fit, if that is possible. */
static void cut(size_t *widths, size_t count, size_t width)
{
	while (total_of(widths, count) > width) {
		size_t widest = 0;

		for (size_t c = 1; c < count; c++)
			if (widths[c] >= widths[widest])
				widest = c;
		if (widths[widest] <= WIDTH_MIN)
			break;
		widths[widest]--;
	}
}

static void spaces(FILE *out, size_t count)
{
	while (count-- > 0)
		fputc(' ', out);
}

/* @param row  NULL: the titles */
static void print_row(FILE *out, const struct table_column *columns,
		      size_t count, const json_t *row, const size_t *widths)
{
	for (size_t c = 0; c < count; c++) {
		const char *text = row ? cell_of(row, c) : columns[c].title;
		size_t used = terminal_columns(text), rest;

		rest = used < widths[c] ? widths[c] - used : 0;
		if (columns[c].right)
			spaces(out, rest);
		terminal_print(out, text, widths[c]);
		if (c + 1 < count)
			spaces(out, (columns[c].right ? 0 : rest) + GAP);
	}
	fputc('\n', out);
}

void table_print(FILE *out, const struct table_column *columns, size_t count,
		 const json_t *rows, size_t width)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0}, i;
	const json_t *row;

	for (size_t c = 0; c < count; c++) {
		widths[c] = terminal_columns(columns[c].title);
		json_array_foreach(rows, i, row)
		{
			size_t wanted = terminal_columns(cell_of(row, c));

			if (wanted > widths[c])
				widths[c] = wanted;
		}
	}
	if (width)
		cut(widths, count, width);
	print_row(out, columns, count, NULL, widths);
	json_array_foreach(rows, i, row)
	{
		print_row(out, columns, count, row, widths);
	}
}

void table_member(const char *title, const char *text)
{
	if (!text[0])
		return;
	printf("%-10s", title);
	terminal_print(stdout, text, 0);
	putchar('\n');
}

size_t table_width(FILE *out)
{
	return isatty(fileno(out)) == 1 ? terminal_width(out) : 0;
}

void table_wrap(FILE *out, const char *text, size_t at, size_t indent,
		size_t width)
{
	char word[256];

	while (*text) {
		size_t len = strcspn(text, " "), columns;
		bool last;

		if (len >= sizeof(word)) {
			len = sizeof(word) - 1;
			while (len > 1 &&
			       ((unsigned char)text[len] & 0xc0) == 0x80)
				len--; /* not within a character */
		}
		memcpy(word, text, len);
		word[len] = '\0';
		text += len;
		last = !*text;
		columns = terminal_columns(word);
		if (width && at > indent && at + columns > width) {
			fputc('\n', out);
			spaces(out, indent);
			at = indent;
		}
		at += terminal_print(out, word, 0);
		if (!last && *text == ' ') {
			text++;
			/* at the end of a line it would be in the way */
			if (!width || at + 1 < width) {
				fputc(' ', out);
				at++;
			}
		}
	}
	fputc('\n', out);
}
