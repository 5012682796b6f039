#include "control/server/store/record.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/record_db.h"
#include "control/server/store/store_db.h"

#include <errno.h>
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
		/* a row we cannot read whole is an error, not a shorter row */
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
		/* of every request: plain copies are quicker than a format */
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

/* Without conditions the figure is kept until something is changed: counting
 * 100 000 rows takes as long as reading a page of them. */
int record_count(struct store *s, const struct table *t,
		 const struct selection *selection, int64_t *ret)
{
	struct store_total *kept = store_total(s);
	uint64_t changes = store_changes(s);
	struct buf sql;
	int err;

	if (!selection->where && kept->of == t->name &&
	    kept->changes == changes) {
		*ret = kept->rows;
		return 0;
	}
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
		*kept = (struct store_total){t->name, changes, *ret};
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
