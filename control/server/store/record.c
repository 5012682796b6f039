#include "control/server/store/record.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/audit_entry.h"
#include "control/server/store/record_db.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"
#include "control/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_BYTES 8192

json_t *record_value(const struct db_value *v)
{
	switch (v->type) {
	case DB_INT:
		return json_integer(v->integer);
	case DB_REAL:
		return json_real(v->real);
	case DB_TEXT:
		return json_stringn(v->bytes, v->len);
	case DB_NULL:
	case DB_BLOB:
	default:
		return json_null();
	}
}

json_t *record_time(const struct db_value *v)
{
	char text[CLOCK_TEXT_BYTES];

	if (v->type != DB_INT)
		return json_null();
	clock_format_ms(text, v->integer);
	return json_string(text);
}

json_t *record_json(const struct db_value *v)
{
	return json_loadb(v->bytes, v->len, JSON_DECODE_ANY, NULL);
}

static json_t *value_json(const struct column *c, const struct db_value *v)
{
	if (v->type == DB_NULL)
		return json_null();
	switch (c->kind) {
	case COLUMN_INT:
		return json_integer(v->integer);
	case COLUMN_REAL:
		return json_real(v->type == DB_INT ? (double)v->integer
						   : v->real);
	case COLUMN_TEXT:
		return json_stringn(v->bytes, v->len);
	case COLUMN_JSON:
		return record_json(v);
	case COLUMN_TIME:
		return record_time(v);
	case COLUMN_HASHED:
	default:
		return NULL;
	}
}

struct reading {
	const struct table *table;
	json_t *rows;
};

static int read_row(const struct db_value *row, size_t columns, void *arg)
{
	struct reading *reading = arg;
	json_t *object = json_object();
	size_t at = 0;

	for (size_t i = 0; i < reading->table->column_count; i++) {
		const struct column *c = &reading->table->columns[i];
		json_t *value;

		if (!c->sql || at >= columns)
			continue;
		value = value_json(c, &row[at++]);
		/* a value that cannot be read fails the row */
		if (!value || json_object_set_new(object, c->name, value)) {
			json_decref(object);
			return -EIO;
		}
	}
	return json_array_append_new(reading->rows, object) ? -ENOMEM : 0;
}

static int select_columns(struct buf *sql, const struct table *t)
{
	const char *separator = "SELECT ";
	int err = 0;

	for (size_t i = 0; i < t->column_count && err == 0; i++) {
		const char *column = t->columns[i].sql;

		if (!column)
			continue;
		/* runs for every request: plain copies are faster than
		 * formatting */
		err = buf_add(sql, separator, strlen(separator));
		if (err == 0)
			err = buf_add(sql, column, strlen(column));
		separator = ", ";
	}
	return err ? err : buf_print(sql, " FROM %s", t->from);
}

static int query_rows(struct store *s, const struct table *t, const char *tail,
		      const struct db_value *params, size_t count,
		      db_row_h *row_h, void *arg)
{
	struct buf sql;
	int err;

	buf_init(&sql, SQL_BYTES);
	err = select_columns(&sql, t);
	if (err == 0)
		err = buf_add(&sql, tail, strlen(tail));
	if (err == 0)
		err = db_query(store_reader(s), sql.data, params, count, row_h,
			       arg);
	buf_release(&sql);
	return err < 0 ? err : 0;
}

/* The count of a whole table is kept until the database changes: counting
 * 100 000 rows takes as long as reading a page of them. */
int record_count(struct store *s, const struct table *t,
		 const struct selection *selection, int64_t *ret)
{
	uint64_t changes = selection->where ? 0 : store_changes(s);
	struct buf sql;
	int err;

	if (!selection->where && store_total(s, t->name, changes, ret))
		return 0;
	buf_init(&sql, SQL_BYTES);
	err = buf_print(&sql, "SELECT count(*) FROM %s%s%s", t->from,
			selection->where ? " WHERE " : "",
			selection->where ? selection->where : "");
	if (err == 0)
		err = db_query(store_reader(s), sql.data, selection->params,
			       selection->count, db_integer_row, ret);
	buf_release(&sql);
	if (err < 0)
		return err;
	if (!selection->where)
		store_total_keep(s, t->name, changes, *ret);
	return 0;
}

int record_select_rows(struct store *s, const struct table *t,
		       const struct selection *selection,
		       const struct page *page, db_row_h *row_h, void *arg)
{
	struct db_value params[RECORD_PARAMS_MAX + 2];
	size_t count = selection->count;
	struct buf tail;
	int err;

	if (count > RECORD_PARAMS_MAX)
		return -EIO;
	for (size_t i = 0; i < count; i++)
		params[i] = selection->params[i];
	params[count] = DB_I(page->count);
	params[count + 1] = DB_I(page->start);
	buf_init(&tail, SQL_BYTES);
	err = buf_print(&tail, "%s%s ORDER BY %s LIMIT $%zu OFFSET $%zu",
			selection->where ? " WHERE " : "",
			selection->where ? selection->where : "",
			selection->order, count + 1, count + 2);
	if (err == 0)
		err = query_rows(s, t, tail.data, params, count + 2, row_h,
				 arg);
	buf_release(&tail);
	return err;
}

int record_select(struct store *s, const struct table *t,
		  const struct selection *selection, const struct page *page,
		  json_t **ret, int64_t *total)
{
	struct reading reading = {.table = t, .rows = json_array()};
	int err = total ? record_count(s, t, selection, total) : 0;

	if (err == 0)
		err = record_select_rows(s, t, selection, page, read_row,
					 &reading);
	if (err)
		json_decref(reading.rows);
	else
		*ret = reading.rows;
	return err;
}

int record_list(struct store *s, const struct table *t, const struct page *page,
		json_t **ret, int64_t *total)
{
	const struct selection all = {.order = t->id};

	return record_select(s, t, &all, page, ret, total);
}

int record_list_of(struct store *s, const struct table *t, const char *column,
		   int64_t value, const struct page *page, json_t **ret,
		   int64_t *total)
{
	static const struct page all = {.count = INT64_MAX};
	const struct db_value param = DB_I(value);
	char where[128];
	const struct selection of = {
		.where = where, .params = &param, .count = 1, .order = t->id};

	if (str_print(where, sizeof(where), "%s = $1", column) < 0)
		return -EIO;
	return record_select(s, t, &of, page ? page : &all, ret, total);
}

int record_get(struct store *s, const struct table *t, int64_t id, json_t **ret)
{
	json_t *rows;
	int err;

	err = record_list_of(s, t, t->id, id, NULL, &rows, NULL);
	if (err)
		return err;
	if (json_array_size(rows) == 0)
		err = -ENOENT;
	else
		*ret = json_incref(json_array_get(rows, 0));
	json_decref(rows);
	return err;
}

int record_number(struct store *s, const struct table *t, const char *column,
		  int64_t id, int64_t *ret)
{
	const struct db_value param = DB_I(id);
	char sql[160];
	int err;

	if (str_print(sql, sizeof(sql), "SELECT %s FROM %s WHERE id = $1",
		      column, t->name) < 0)
		return -EIO;
	err = db_query(store_reader(s), sql, &param, 1, db_integer_row, ret);
	return err == 0 ? -ENOENT : err < 0 ? err : 0;
}

/* ---- writing ---- */

#define RECORD_COLUMNS_MAX 32
#define SQL_BYTES          8192

/* The values of one statement, and the owners of what they borrow. */
struct binding {
	struct db_value params[RECORD_COLUMNS_MAX + 1];
	char *texts[RECORD_COLUMNS_MAX];
	uint8_t hashes[RECORD_COLUMNS_MAX][SECRET_HASH_BYTES];
	const char *columns[RECORD_COLUMNS_MAX];
	size_t count;
};

static int bind_member(struct store *s, struct binding *b,
		       const struct column *c, json_t *value)
{
	struct db_value *param = &b->params[b->count];

	b->texts[b->count] = NULL;
	b->columns[b->count] = c->own;
	if (c->kind == COLUMN_JSON) {
		/* listings show the stored text */
		char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
						       JSON_DECIMAL);

		if (!text)
			return -ENOMEM;
		b->texts[b->count] = text;
		*param = db_text(text);
	} else if (json_is_null(value)) {
		*param = db_text(NULL);
	} else if (c->kind == COLUMN_TEXT) {
		*param = db_text(json_string_value(value));
	} else if (c->kind == COLUMN_REAL) {
		*param = DB_R(json_number_value(value));
	} else if (c->kind == COLUMN_HASHED) {
		secret_hash(store_secrets(s), json_string_value(value),
			    b->hashes[b->count]);
		*param = db_blob(b->hashes[b->count], SECRET_HASH_BYTES);
	} else {
		*param = DB_I(json_integer_value(value));
	}
	b->count++;
	return 0;
}

static int bind_values(struct store *s, struct binding *b,
		       const struct table *t, json_t *values)
{
	b->count = 0;
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];
		json_t *value = json_object_get(values, c->name);
		int err;

		if (!c->own || !value)
			continue;
		err = b->count < RECORD_COLUMNS_MAX
			      ? bind_member(s, b, c, value)
			      : -EIO;
		if (err)
			return err;
	}
	return 0;
}

static void binding_release(struct binding *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->texts[i]);
}

static int insert_sql(struct buf *sql, const struct table *t,
		      const struct binding *b)
{
	int err = buf_print(sql, "INSERT INTO %s (", t->name);

	for (size_t i = 0; i < b->count && err == 0; i++)
		err = buf_print(sql, "%s%s", i ? ", " : "", b->columns[i]);
	if (err == 0)
		err = buf_print(sql, ") VALUES (");
	for (size_t i = 0; i < b->count && err == 0; i++)
		err = buf_print(sql, "%s$%zu", i ? ", " : "", i + 1);
	if (err == 0)
		err = buf_print(sql, ") RETURNING id");
	return err;
}

static int update_sql(struct buf *sql, const struct table *t,
		      const struct binding *b)
{
	int err = buf_print(sql, "UPDATE %s SET ", t->name);

	for (size_t i = 0; i < b->count && err == 0; i++)
		err = buf_print(sql, "%s%s = $%zu", i ? ", " : "",
				b->columns[i], i + 1);
	if (err == 0)
		err = buf_print(sql, " WHERE id = $%zu RETURNING id",
				b->count + 1);
	return err;
}

/* id 0: insert */
static int write_record(struct store *s, const struct table *t, int64_t id,
			json_t *values, record_children_h *children,
			int64_t *ret_id)
{
	struct binding *b;
	struct buf sql;
	struct db *db;
	int64_t written = 0;
	int err;

	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	buf_init(&sql, SQL_BYTES);
	err = bind_values(s, b, t, values);
	if (err == 0)
		err = id ? update_sql(&sql, t, b) : insert_sql(&sql, t, b);
	b->params[b->count] = DB_I(id);
	if (err == 0)
		err = store_write_begin(s, &db);
	if (err)
		goto out;
	err = db_query(db, sql.data, b->params, b->count + (id ? 1 : 0),
		       db_integer_row, &written);
	if (err == 0)
		err = -ENOENT;
	if (err > 0 && children)
		err = children(s, db, written, values);
	if (err >= 0) {
		int noted = audit_record(*store_audit(s), db, t->name, written);

		err = noted ? noted : err;
	}
	err = store_write_end(s, err);
	if (err >= 0)
		*ret_id = written;
out:
	buf_release(&sql);
	binding_release(b);
	free(b);
	return err < 0 ? err : 0;
}

int record_insert(struct store *s, const struct table *t, json_t *values,
		  record_children_h *children, int64_t *ret_id)
{
	return write_record(s, t, 0, values, children, ret_id);
}

int record_update(struct store *s, const struct table *t, int64_t id,
		  json_t *values, record_children_h *children)
{
	int64_t written;

	return write_record(s, t, id, values, children, &written);
}

int record_delete(struct store *s, const struct table *t, int64_t id)
{
	const struct db_value params[] = {DB_I(id)};
	char sql[128];
	struct db *db;
	int err;

	snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE id = $1 RETURNING id",
		 t->name);
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = audit_record(*store_audit(s), db, t->name,
			   id); /* it still has its name */
	if (!err)
		err = db_query(db, sql, params, 1, NULL, NULL);
	err = store_write_end(s, err == 0 ? -ENOENT : err);
	return err < 0 ? err : 0;
}
