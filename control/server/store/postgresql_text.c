#include "control/server/store/postgresql_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int postgresql_error(const char *sqlstate)
{
	static const struct {
		const char *state; /* or the class: its beginning */
		int code;
	} codes[] = {
		{"23505", -EEXIST},    /* unique_violation */
		{"23503", -ENOTEMPTY}, /* foreign_key_violation */
		{"40001", -EBUSY},     /* serialization_failure */
		{"40P01", -EBUSY},     /* deadlock_detected */
		{"55P03", -EBUSY},     /* lock_not_available */
		{"57014", -EBUSY},     /* query_canceled: statement_timeout */
		{"08", -ENOTCONN},     /* connection exceptions */
		{"57P", -ENOTCONN},    /* shutdown, crash, cannot_connect_now */
		{"53300", -ENOTCONN},  /* too_many_connections */
		{"53100", -ENOSPC},    /* disk_full */
	};

	if (!sqlstate)
		return -ENOTCONN;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (strncmp(sqlstate, codes[i].state, strlen(codes[i].state)) ==
		    0)
			return codes[i].code;
	return -EIO;
}

/* ---- values ---- */

static bool takes_bytes(uint32_t type, enum db_type given)
{
	switch (type) {
	case POSTGRESQL_TEXT:
	case POSTGRESQL_BYTEA:
	case POSTGRESQL_JSON:
		return true;
	case POSTGRESQL_BYTEA_ARRAY: /* as postgresql_arrays.h makes them */
	case POSTGRESQL_TEXT_ARRAY:
	case POSTGRESQL_INT8_ARRAY:
	case POSTGRESQL_FLOAT8_ARRAY:
		return given == DB_BLOB;
	default:
		return false;
	}
}

static void write_number(const struct db_value *value, uint32_t type,
			 char number[static POSTGRESQL_NUMBER_BYTES])
{
	int64_t integer = value->integer;

	if (type == POSTGRESQL_BOOL)
		integer = db_number(value) != 0;
	if (value->type == DB_INT || type == POSTGRESQL_BOOL)
		snprintf(number, POSTGRESQL_NUMBER_BYTES, "%" PRId64, integer);
	else /* 17 digits come back as the same number */
		snprintf(number, POSTGRESQL_NUMBER_BYTES, "%.17g", value->real);
}

int postgresql_param(const struct db_value *value, uint32_t type,
		     char number[static POSTGRESQL_NUMBER_BYTES],
		     struct postgresql_param *ret)
{
	if (value->type == DB_NULL) {
		*ret = (struct postgresql_param){.bytes = NULL};
		return 0;
	}
	if (value->type == DB_INT || value->type == DB_REAL) {
		write_number(value, type, number);
		*ret = (struct postgresql_param){.bytes = number};
		return 0;
	}
	if (!takes_bytes(type, value->type))
		return -EINVAL;
	if (value->len > INT_MAX)
		return -EOVERFLOW;
	/* texts too: they are not terminated where they lie in a longer one */
	*ret = (struct postgresql_param){.bytes = value->bytes ? value->bytes
							       : "",
					 .len = (int)value->len,
					 .format = 1};
	return 0;
}

static int read_integer(const char *text, struct db_value *ret)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return -EINVAL;
	*ret = DB_I(number);
	return 0;
}

static int read_real(const char *text, struct db_value *ret)
{
	char *end;
	double number = strtod(text, &end); /* "Infinity" and "NaN" as well */

	if (end == text || *end)
		return -EINVAL;
	*ret = DB_R(number);
	return 0;
}

/* What each digit stands for, and 1. */
static const unsigned char hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* bytea_output is hex: \x and two digits a byte. By a table, as it is each byte of the points
 * that are read: strchr() took six times as long. */
static int read_bytes(const char *text, size_t len, unsigned char *bytes,
		      struct db_value *ret)
{
	if (len < 2 || len % 2 || text[0] != '\\' || text[1] != 'x')
		return -EINVAL;
	for (size_t i = 2; i < len; i += 2) {
		const unsigned high = hex_digits[(unsigned char)text[i]];
		const unsigned low = hex_digits[(unsigned char)text[i + 1]];

		if (!high || !low)
			return -EINVAL;
		bytes[i / 2 - 1] = (unsigned char)((high - 1) << 4 | (low - 1));
	}
	*ret = db_blob(bytes, len / 2 - 1);
	return 0;
}

int postgresql_value(uint32_t type, const char *text, size_t len,
		     unsigned char *bytes, struct db_value *ret)
{
	switch (type) {
	case POSTGRESQL_BOOL:
		*ret = DB_I(text[0] == 't');
		return 0;
	case POSTGRESQL_INT2:
	case POSTGRESQL_INT4:
	case POSTGRESQL_INT8:
		return read_integer(text, ret);
	case POSTGRESQL_NUMERIC: /* sum() of integers */
		if (read_integer(text, ret) == 0)
			return 0;
		return read_real(text, ret);
	case POSTGRESQL_FLOAT4:
	case POSTGRESQL_FLOAT8:
		return read_real(text, ret);
	case POSTGRESQL_BYTEA:
		return read_bytes(text, len, bytes, ret);
	default:
		*ret = (struct db_value){
			.type = DB_TEXT, .bytes = text, .len = len};
		return 0;
	}
}

/* ---- rows of COPY ---- */

/* Source: PostgreSQL 15, COPY, "Text Format": what would end a column or a row, and
 * the backslash. */
static int add_text(struct buf *b, const char *text, size_t len)
{
	static const char special[] = "\\\n\r\t", letters[] = "\\nrt";
	size_t from = 0;
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++) {
		const char *found = text[i] ? strchr(special, text[i]) : NULL;

		if (!found)
			continue;
		err = buf_add(b, text + from, i - from);
		if (err == 0)
			err = buf_add(
				b, (char[]){'\\', letters[found - special]}, 2);
		from = i + 1;
	}
	return err ? err : buf_add(b, text + from, len - from);
}

static int add_bytes(struct buf *b, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *at;
	int err = buf_extend(b, 3 + 2 * len, &at);

	if (err)
		return err;
	memcpy(at, "\\\\x", 3);
	at += 3;
	for (size_t i = 0; i < len; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	return 0;
}

static int add_value(struct buf *b, const struct db_value *value)
{
	char number[POSTGRESQL_NUMBER_BYTES];

	switch (value->type) {
	case DB_INT:
	case DB_REAL:
		write_number(value, POSTGRESQL_FLOAT8, number);
		return buf_add(b, number, strlen(number));
	case DB_TEXT:
		return add_text(b, value->bytes, value->len);
	case DB_BLOB:
		return add_bytes(b, value->bytes, value->len);
	case DB_NULL:
	default:
		return buf_add(b, "\\N", 2);
	}
}

int postgresql_copy_row(struct buf *ret, const struct db_value *row,
			size_t columns)
{
	int err = 0;

	for (size_t i = 0; i < columns && err == 0; i++) {
		err = i > 0 ? buf_add(ret, "\t", 1) : 0;
		if (err == 0)
			err = add_value(ret, &row[i]);
	}
	return err ? err : buf_add(ret, "\n", 1);
}

/* ---- the schema ---- */

struct token {
	const char *at;
	size_t len; /* 0: the end */
};

/* What the schema's text may be longer in PostgreSQL's words. */
#define SCHEMA_BYTES (1024 * 1024)

static const char *skip_blank(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n");
		if (at[0] != '-' || at[1] != '-')
			return at;
		at += strcspn(at, "\n");
	}
}

/* A word, a quoted text or one other character, after blanks and comments. */
static struct token next_token(const char **at)
{
	struct token t = {.at = skip_blank(*at)};

	if (*t.at == '\'' || *t.at == '"') {
		const char *end = strchr(t.at + 1, *t.at);

		t.len = end ? (size_t)(end - t.at) + 1 : strlen(t.at);
	} else if (isalnum((unsigned char)*t.at) || *t.at == '_') {
		while (isalnum((unsigned char)t.at[t.len]) ||
		       t.at[t.len] == '_')
			t.len++;
	} else if (*t.at) {
		t.len = 1;
	}
	*at = t.at + t.len;
	return t;
}

static bool is(const struct token *t, const char *word)
{
	return t->len == strlen(word) && strncasecmp(t->at, word, t->len) == 0;
}

/* Take the words if they come next. */
static bool take(const char **at, const char *first, const char *second)
{
	const char *look = *at;
	struct token t = next_token(&look);

	if (!is(&t, first))
		return false;
	if (second) {
		t = next_token(&look);
		if (!is(&t, second))
			return false;
	}
	*at = look;
	return true;
}

static int add(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

/* Copy what lies between two tokens of the source: blanks, not comments. */
static int add_token(struct buf *b, const char *before, const struct token *t)
{
	int err = t->at > before ? add(b, " ") : 0;

	return err ? err : buf_add(b, t->at, t->len);
}

static int add_column_type(struct buf *b, const char **at,
			   const struct token *t, bool cast)
{
	if (is(t, "INTEGER")) {
		if (!take(at, "PRIMARY", "KEY"))
			return add(b, " BIGINT");
		take(at, "AUTOINCREMENT", NULL);
		return add(b, " BIGINT GENERATED BY DEFAULT AS IDENTITY "
			      "PRIMARY KEY");
	}
	if (is(t, "REAL"))
		return add(b, " DOUBLE PRECISION");
	if (is(t, "BLOB"))
		return add(b, " BYTEA");
	/* by bytes, as SQLite, in a database of any locale */
	if (is(t, "TEXT"))
		return add(b, cast ? " TEXT" : " TEXT COLLATE \"C\"");
	return 1;
}

/* Copy the body of a trigger up to its END. */
static int add_body(struct buf *b, const char **at)
{
	bool begins = true; /* a statement: its END is not one of CASE */

	for (;;) {
		const char *before = *at;
		struct token t = next_token(at);
		int err;

		if (t.len == 0)
			return -EINVAL;
		if (begins && is(&t, "END"))
			return 0;
		begins = is(&t, ";");
		err = add_token(b, before, &t);
		if (err)
			return err;
	}
}

/* After CREATE TRIGGER: PostgreSQL's triggers call a function. */
static int add_trigger(struct buf *b, const char **at)
{
	struct token name = next_token(at), t;
	struct buf head;
	int err = 0;

	buf_init(&head, SCHEMA_BYTES);
	for (;;) {
		const char *before = *at;

		t = next_token(at);
		if (t.len == 0 || is(&t, "BEGIN"))
			break;
		err = add_token(&head, before, &t);
		if (err)
			break;
	}
	if (err == 0 && t.len == 0)
		err = -EINVAL;
	if (err == 0)
		err = buf_print(b,
				"\nCREATE FUNCTION %.*s() RETURNS trigger "
				"LANGUAGE plpgsql AS $trigger$ BEGIN",
				(int)name.len, name.at);
	if (err == 0)
		err = add_body(b, at);
	if (err == 0)
		err = buf_print(b,
				" RETURN NULL; END $trigger$;\nCREATE TRIGGER "
				"%.*s%s FOR EACH ROW EXECUTE FUNCTION %.*s()",
				(int)name.len, name.at,
				head.data ? head.data : "", (int)name.len,
				name.at);
	buf_release(&head);
	return err;
}

int postgresql_schema(struct buf *ret, const char *sql)
{
	struct token last = {.len = 0};
	const char *at = sql;
	int err = add(ret, "");

	while (err == 0) {
		const char *before = at;
		struct token t = next_token(&at);

		if (t.len == 0)
			break;
		if (is(&t, "CREATE") && take(&at, "TRIGGER", NULL)) {
			err = add_trigger(ret, &at);
		} else if (!is(&t, "WITHOUT") || !take(&at, "ROWID", NULL)) {
			err = add_column_type(ret, &at, &t, is(&last, "AS"));
			if (err > 0)
				err = add_token(ret, before, &t);
		}
		last = t;
	}
	return err;
}
