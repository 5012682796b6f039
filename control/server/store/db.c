#include "control/server/store/db_driver.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

struct db_value db_text(const char *text)
{
	if (!text)
		return (struct db_value){.type = DB_NULL};
	return (struct db_value){
		.type = DB_TEXT, .bytes = text, .len = strlen(text)};
}

struct db_value db_id_or_null(int64_t id)
{
	return id ? DB_I(id) : db_text(NULL);
}

int64_t db_integer_or_0(const struct db_value *value)
{
	return value->type == DB_INT ? value->integer : 0;
}

struct db_value db_blob(const void *bytes, size_t len)
{
	return (struct db_value){.type = DB_BLOB, .bytes = bytes, .len = len};
}

double db_number(const struct db_value *value)
{
	return value->type == DB_INT ? (double)value->integer : value->real;
}

int db_integer_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	*(int64_t *)arg = row[0].integer;
	return 0;
}

int db_uuid_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	return str_copy(arg, UUID_TEXT_BYTES, row[0].bytes) ? -EIO : 0;
}

enum db_dialect db_dialect(const struct db *db)
{
	return db->driver->dialect;
}

const char *db_choose(const struct db *db, const char *sqlite,
		      const char *postgresql)
{
	return db->driver->dialect == DB_POSTGRESQL ? postgresql : sqlite;
}

int db_query(struct db *db, const char *sql, const struct db_value *params,
	     size_t count, db_row_h *row_h, void *arg)
{
	return db->driver->query(db, sql, params, count, row_h, arg);
}

int db_script(struct db *db, const char *sql)
{
	return db->driver->script(db, sql);
}

int db_load_text(struct buf *sql, const char *before,
		 const struct db_load *load, const char *after)
{
	int err = buf_texts(sql, before, " \"", load->table, "\" (", NULL);

	for (size_t i = 0; i < load->count && err == 0; i++)
		err = buf_texts(sql, i ? ", \"" : "\"", load->columns[i], "\"",
				NULL);
	return err ? err : buf_texts(sql, ") ", after, NULL);
}

int db_load_begin(struct db *db, const struct db_load *load)
{
	return db->driver->load_begin(db, load);
}

int db_load_row(struct db *db, const struct db_value *row)
{
	return db->driver->load_row(db, row);
}

int db_load_end(struct db *db)
{
	return db->driver->load_end(db);
}

int db_begin(struct db *db)
{
	return db->driver->begin(db);
}

int db_commit(struct db *db)
{
	return db->driver->commit(db);
}

void db_rollback(struct db *db)
{
	db->driver->rollback(db);
}

bool db_is_alone(const struct db *db)
{
	return db->driver->is_alone(db);
}

int db_lock_alone(struct db *db)
{
	return db->driver->lock_alone(db);
}

int db_lock_shared(struct db *db)
{
	return db->driver->lock_shared(db);
}

uint64_t db_connections(const struct db *db)
{
	return db->driver->connections(db);
}

const char *db_error(const struct db *db)
{
	return db->driver->error(db);
}

struct db *db_close(struct db *db)
{
	if (db)
		db->driver->close(db);
	return NULL;
}
