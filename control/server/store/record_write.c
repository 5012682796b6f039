#include "control/server/store/record.h"

#include "base/buf.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"
#include "control/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_COLUMNS_MAX 32
#define SQL_BYTES          8192

/* The values of one statement and what they borrow. */
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
		/* lists show it as it stands */
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
	err = db_query(db, sql, params, 1, NULL, NULL);
	err = store_write_end(s, err == 0 ? -ENOENT : err);
	return err < 0 ? err : 0;
}
