#include "control/server/api/csv.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cell {
	char *text; /* within the copy; not terminated */
	size_t len;
};

struct reader {
	char *at; /* in the copy, which ends with a 0 */
	unsigned line;
	char separator;
	struct cell cells[CSV_COLUMNS_MAX];
	size_t count;
	char *reason;
};

static int refuse(struct reader *r, unsigned line, const char *what)
{
	str_print(r->reason, CSV_REASON_BYTES, "line %u: %s", line, what);
	return -EBADMSG;
}

/* The end of a line at p, in bytes; 0: there is none */
static size_t line_end(const char *p)
{
	if (p[0] == '\r' && p[1] == '\n')
		return 2;
	return p[0] == '\n';
}

/* Read a quoted cell. The text moves left as quotes are removed. */
static int read_quoted(struct reader *r, struct cell *cell)
{
	unsigned first = r->line;
	char *write = r->at;

	cell->text = write;
	for (r->at++; *r->at; r->at++) {
		if (*r->at == '"' && *++r->at != '"') {
			cell->len = (size_t)(write - cell->text);
			if (*r->at && *r->at != r->separator &&
			    !line_end(r->at))
				return refuse(r, r->line,
					      "something stands behind a "
					      "closing quote");
			return 0;
		}
		if (*r->at == '\n')
			r->line++;
		*write++ = *r->at;
	}
	return refuse(r, first, "a quote is not closed");
}

static int read_cell(struct reader *r, struct cell *cell)
{
	if (*r->at == '"')
		return read_quoted(r, cell);
	cell->text = r->at;
	while (*r->at && *r->at != r->separator && !line_end(r->at))
		r->at++;
	cell->len = (size_t)(r->at - cell->text);
	return 0;
}

/* Read a line's cells, and its end. */
static int read_line(struct reader *r)
{
	for (r->count = 0;;) {
		int err;

		if (r->count == CSV_COLUMNS_MAX)
			return refuse(r, r->line, "too many cells");
		err = read_cell(r, &r->cells[r->count]);
		if (err)
			return err;
		r->count++;
		if (!*r->at)
			return 0;
		if (*r->at != r->separator)
			break;
		r->at++;
	}
	r->at += line_end(r->at);
	r->line++;
	return 0;
}

static void trim(struct cell *cell)
{
	while (cell->len && isspace((unsigned char)*cell->text)) {
		cell->text++;
		cell->len--;
	}
	while (cell->len && isspace((unsigned char)cell->text[cell->len - 1]))
		cell->len--;
}

/* The names in lower case, terminated: what follows them has been read. */
static int read_names(struct reader *r, const char *names[CSV_COLUMNS_MAX])
{
	int err;

	r->separator = r->at[strcspn(r->at, ",;\t\n")];
	if (!r->separator || r->separator == '\n')
		r->separator = ',';
	err = read_line(r);
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		struct cell *cell = &r->cells[i];

		trim(cell);
		if (!cell->len)
			return refuse(r, 1, "a column has no name");
		for (size_t k = 0; k < cell->len; k++)
			cell->text[k] =
				(char)tolower((unsigned char)cell->text[k]);
		names[i] = cell->text;
	}
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		r->cells[i].text[r->cells[i].len] = '\0';
		for (size_t k = 0; k < i; k++)
			if (strcmp(names[i], names[k]) == 0)
				return refuse(r, 1, "a name is there twice");
	}
	return err;
}

static json_t *make_row(const struct reader *r, const char *const *names)
{
	json_t *row = json_object();

	for (size_t i = 0; i < r->count; i++) {
		const struct cell *cell = &r->cells[i];

		if (cell->len &&
		    json_object_set_new(row, names[i],
					json_stringn(cell->text, cell->len))) {
			json_decref(row);
			return NULL;
		}
	}
	return row;
}

static int read_rows(struct reader *r, csv_row_h *row_h, void *arg)
{
	const char *names[CSV_COLUMNS_MAX];
	size_t columns;
	int err = read_names(r, names);

	for (columns = r->count; err == 0 && *r->at;) {
		unsigned line = r->line;
		json_t *row;

		err = read_line(r);
		if (err || (r->count == 1 && r->cells[0].len == 0))
			continue;
		if (r->count != columns)
			return refuse(r, line,
				      "has not as many cells as the first "
				      "line has names");
		row = make_row(r, names);
		err = row ? row_h(line, row, arg) : -ENOMEM;
		json_decref(row);
	}
	return err;
}

int csv_read(const char *text, csv_row_h *row_h, void *arg,
	     char reason[static CSV_REASON_BYTES])
{
	static const char mark[] = "\xef\xbb\xbf";
	struct reader r = {.line = 1, .reason = reason};
	char *copy;
	int err;

	if (strncmp(text, mark, sizeof(mark) - 1) == 0)
		text += sizeof(mark) - 1;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	r.at = copy;
	err = read_rows(&r, row_h, arg);
	explicit_bzero(copy, strlen(text));
	free(copy);
	return err;
}
