#include "control/server/store/store_reseal.h"

#include "base/str.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SQL_BYTES 160

/* Every column with boxes; tests/e2e/test_rotate_key.py compares it with the schema. */
static const struct box_column {
	const char *table;
	const char *column;
	const char *purpose;
	bool text_id; /* the id is a text */
} box_columns[] = {
	{"credential", "password_box", CREDENTIAL_BOX, false},
	{"test", "callback_secret_box", CALLBACK_SECRET_BOX, false},
	{"run", "retry_box", RETRY_BOX, false},
	{"run", "callback_box", CALLBACK_BOX, false},
	{"project_run", "callback_box", CALLBACK_BOX, false},
	{"callback", "request_box", REQUEST_BOX, false},
	{"capacity_search", "test_box", CAPACITY_BOX, false},
	{"lease", "secret_box", LEASE_BOX, true},
};

#define BOX_COLUMNS (sizeof(box_columns) / sizeof(*box_columns))

struct reseal {
	struct db *db;
	const struct box_column *column;
	const struct secrets *from;
	const struct secrets *to;
	struct reseal_counts counts;
};

/* A row with a box. Rows are read one by one in the order of their ids, as a query that
 * is in progress may or may not see what is written meanwhile. */
struct next_box {
	int64_t id;
	char text_id[UUID_TEXT_BYTES];
	uint8_t *box;
	size_t len;
};

static const struct next_box before_all = {.id = INT64_MIN};

static struct db_value id_of(const struct box_column *c,
			     const struct next_box *next)
{
	return c->text_id ? db_text(next->text_id) : DB_I(next->id);
}

static int take_box(const struct db_value *row, size_t columns, void *arg)
{
	struct next_box *next = arg;

	(void)columns;
	next->id = row[0].integer;
	if (row[0].type == DB_TEXT &&
	    str_copy(next->text_id, sizeof(next->text_id), row[0].bytes))
		return -EIO;
	next->len = row[1].len;
	next->box = malloc(next->len + 1);
	if (!next->box)
		return -ENOMEM;
	memcpy(next->box, row[1].bytes, next->len);
	return 0;
}

/* Read the first row with a box after this one.
 * @param next  in/out; its box is to be freed if there is one
 * @return 1; 0 there is none; negative */
static int read_box(struct db *db, const struct box_column *c,
		    struct next_box *next)
{
	const struct next_box before = *next;
	const struct db_value param = id_of(c, &before);
	char sql[SQL_BYTES];

	str_print(sql, sizeof(sql),
		  "SELECT id, %s FROM %s WHERE %s IS NOT NULL AND id > $1 "
		  "ORDER BY id LIMIT 1",
		  c->column, c->table, c->column);
	return db_query(db, sql, &param, 1, take_box, next);
}

static int write_box(struct reseal *r, const struct next_box *next,
		     const char *plain, size_t len)
{
	struct db_value params[2] = {id_of(r->column, next)};
	char sql[SQL_BYTES];
	uint8_t *box;
	size_t box_len;
	int err = secret_seal(r->to, r->column->purpose, plain, len, &box,
			      &box_len);

	if (err)
		return err;
	params[1] = db_blob(box, box_len);
	str_print(sql, sizeof(sql), "UPDATE %s SET %s = $2 WHERE id = $1",
		  r->column->table, r->column->column);
	err = db_query(r->db, sql, params, 2, NULL, NULL);
	free(box);
	return err < 0 ? err : 0;
}

static int reseal_box(struct reseal *r, const struct next_box *next)
{
	char *plain;
	size_t len;
	int err = secret_open(r->from, r->column->purpose, next->box, next->len,
			      &plain, &len);

	if (err == -EBADMSG) {
		r->counts.foreign++;
		return 0;
	}
	if (err)
		return err;
	err = write_box(r, next, plain, len);
	secret_wipe_free(plain, len);
	if (err == 0)
		r->counts.sealed++;
	return err;
}

static int reseal_column(struct reseal *r)
{
	struct next_box next = before_all;
	int err;

	while ((err = read_box(r->db, r->column, &next)) > 0) {
		err = reseal_box(r, &next);
		free(next.box);
		if (err)
			return err;
	}
	return err;
}

int store_reseal(struct store *s, const struct secrets *to,
		 struct reseal_counts *ret)
{
	struct reseal r = {.from = store_secrets(s), .to = to};
	int err = store_write_begin(s, &r.db);

	if (err)
		return err;
	for (size_t i = 0; err == 0 && i < BOX_COLUMNS; i++) {
		r.column = &box_columns[i];
		err = reseal_column(&r);
	}
	err = store_write_end(s, err);
	if (err == 0)
		*ret = r.counts;
	return err;
}

int store_sealed_by(struct store *s, const struct secrets *key)
{
	for (size_t i = 0; i < BOX_COLUMNS; i++) {
		struct next_box next = before_all;
		int found;

		while ((found = read_box(store_reader(s), &box_columns[i],
					 &next)) > 0) {
			char *plain;
			size_t len;
			int err = secret_open(key, box_columns[i].purpose,
					      next.box, next.len, &plain, &len);

			free(next.box);
			if (err == 0)
				secret_wipe_free(plain, len);
			if (err != -EBADMSG)
				return err ? err : 1;
		}
		if (found < 0)
			return found;
	}
	return 0;
}
