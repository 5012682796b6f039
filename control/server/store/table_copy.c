#include "control/server/store/table_copy.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/store/db_postgresql.h"
#include "control/server/store/db_sqlite.h"
#include "control/server/store/migrate.h"
#include "control/server/store/postgresql_uri.h"
#include "control/server/store/store.h"
#include "control/server/store/store_copy.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MAX  64
#define COLUMN_BYTES 64
#define SQL_BYTES    8192

/* Rows that a PostgreSQL server sends at once. */
#define FETCH_ROWS "500"

/* Rows between two looks at the signals, and reports of the progress. */
#define ROWS_TOLD 1000

/* One of the two databases. */
struct side {
	struct db *db;
	int lock_fd; /* of a file */
	char name[PATH_MAX];
};

struct table {
	struct table_copied *copied; /* borrowed */
	char columns[COLUMNS_MAX][COLUMN_BYTES];
	const char *column_list[COLUMNS_MAX];
	struct db_load load;
	int depth; /* above that of each table that it refers to */
};

struct copy {
	const struct table_copy_params *p;
	struct table_copies *ret;
	struct side source, destination;
	struct table *tables; /* ret->count of them */
	int64_t done, total;
};

int table_copy_name(char *name, size_t size, const char *place)
{
	char text[POSTGRESQL_NAME_BYTES];
	int err;

	if (database_is_file(place)) {
		err = str_copy(name, size, place);
	} else {
		postgresql_uri_name(place, text);
		err = str_copy(name, size, text);
	}
	return err < 0 ? err : 0;
}

bool table_rows_equal(const struct table_rows *a, const struct table_rows *b)
{
	return a->count == b->count &&
	       memcmp(a->sums, b->sums, sizeof(a->sums)) == 0;
}

/* ---- the sides ---- */

static int lock_file(struct side *s, const char *place)
{
	int err = database_lock(&s->lock_fd, place);

	if (err == -EBUSY)
		log_error("database %s is in use: stop its controller first. "
			  "What it changed during a copy would be lost",
			  s->name);
	else if (err)
		log_error("%s.lock: %s", s->name, strerror(-err));
	return err;
}

static int open_side(struct side *s, const char *place, bool is_source)
{
	int err = table_copy_name(s->name, sizeof(s->name), place);

	if (err)
		return err;
	/* the writing connection has the lock of controllers */
	if (!database_is_file(place)) {
		err = db_postgresql_open(&s->db, place, false);
		return err ? err : db_lock_alone(s->db);
	}
	if (is_source && access(place, F_OK)) {
		err = -errno;
		log_error("%s: %s; is this the configuration of the controller "
			  "(--config FILE)?",
			  place, strerror(-err));
		return err;
	}
	err = lock_file(s, place);
	if (err)
		return err;
	db_sqlite_setup();
	return is_source ? db_sqlite_open_as_is(&s->db, place)
			 : db_sqlite_open(&s->db, place, false);
}

static void close_side(struct side *s)
{
	if (s->db)
		db_rollback(s->db);
	s->db = db_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
}

static int failed(const struct side *s, const char *table, int err)
{
	if (err != -ECANCELED)
		log_error("database %s, table %s: %s", s->name, table,
			  err == -ENOMEM || err == -EMSGSIZE ? strerror(-err)
							     : db_error(s->db));
	return err;
}

static int run(struct db *db, const char *sql)
{
	int err = db_query(db, sql, NULL, 0, NULL, NULL);

	return err < 0 ? err : 0;
}

/* Begin a transaction in which the source does not change. */
static int begin_source(struct copy *c)
{
	struct db *db = c->source.db;
	int err = db_begin(db);

	if (err == 0 && db_dialect(db) == DB_POSTGRESQL)
		err = run(db,
			  "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	return err;
}

/* Begin the transaction of the destination, in which no trigger changes what is
 * copied. SQLite: references are checked at the end. */
static int begin_destination(struct copy *c)
{
	struct db *db = c->destination.db;
	int err = 0;

	if (db_dialect(db) == DB_SQLITE) {
		db_sqlite_triggers(db, false);
		err = db_script(db, "PRAGMA foreign_keys = OFF");
	}
	return err ? err : db_begin(db);
}

/* ---- the tables ---- */

static int table_row(const struct db_value *row, size_t columns, void *arg)
{
	struct copy *c = arg;
	struct table_copied *t = &c->ret->tables[c->ret->count];

	(void)columns;
	if (c->ret->count == TABLE_COPY_TABLES ||
	    str_copy(t->name, sizeof(t->name), row[0].bytes) < 0)
		return -EMSGSIZE;
	c->ret->count++;
	return 0;
}

static int column_row(const struct db_value *row, size_t columns, void *arg)
{
	struct table *t = arg;
	const size_t at = t->load.count;

	(void)columns;
	if (at == COLUMNS_MAX ||
	    str_copy(t->columns[at], COLUMN_BYTES, row[0].bytes) < 0)
		return -EMSGSIZE;
	t->column_list[at] = t->columns[at];
	t->load.count++;
	return 0;
}

/* Find the tables that the schema has, and their columns. */
static int find_tables(struct copy *c)
{
	struct db *db = c->destination.db;
	int err = db_query(
		db,
		db_choose(db,
			  "SELECT name FROM sqlite_master WHERE type = 'table' "
			  "AND name NOT LIKE 'sqlite_%' ORDER BY name",
			  "SELECT tablename FROM pg_catalog.pg_tables "
			  "WHERE schemaname = current_schema() "
			  "ORDER BY tablename"),
		NULL, 0, table_row, c);

	if (err < 0)
		return err;
	c->tables = calloc(c->ret->count, sizeof(*c->tables));
	if (!c->tables)
		return -ENOMEM;
	for (size_t i = 0; i < c->ret->count && err >= 0; i++) {
		struct table *t = &c->tables[i];
		const struct db_value name = db_text(c->ret->tables[i].name);

		t->copied = &c->ret->tables[i];
		t->load = (struct db_load){.table = t->copied->name,
					   .columns = t->column_list};
		err = db_query(db,
			       db_choose(db,
					 "SELECT name FROM pragma_table_info"
					 "($1) ORDER BY cid",
					 "SELECT column_name FROM "
					 "information_schema.columns WHERE "
					 "table_schema = current_schema() AND "
					 "table_name = CAST($1 AS TEXT) "
					 "ORDER BY ordinal_position"),
			       &name, 1, column_row, t);
	}
	return err < 0 ? err : 0;
}

static struct table *find_table(struct copy *c, const char *name)
{
	for (size_t i = 0; i < c->ret->count; i++)
		if (strcmp(c->tables[i].copied->name, name) == 0)
			return &c->tables[i];
	return NULL;
}

static int reference_row(const struct db_value *row, size_t columns, void *arg)
{
	struct copy *c = arg;
	struct table *t = find_table(c, row[0].bytes);
	const struct table *other = find_table(c, row[1].bytes);

	(void)columns;
	if (t && other && t != other && t->depth <= other->depth)
		t->depth = other->depth + 1;
	return 0;
}

/* Find out which table must be filled before which. */
static int find_depths(struct copy *c)
{
	struct db *db = c->destination.db;
	int err = 0;

	/* each pass settles at least one more level */
	for (size_t pass = 0; pass < c->ret->count && err >= 0; pass++)
		err = db_query(db,
			       db_choose(db,
					 "SELECT m.name, f.\"table\" FROM "
					 "sqlite_master m, "
					 "pragma_foreign_key_list(m.name) f "
					 "WHERE m.type = 'table'",
					 "SELECT a.relname, b.relname FROM "
					 "pg_catalog.pg_constraint f "
					 "JOIN pg_catalog.pg_class a "
					 "ON a.oid = f.conrelid "
					 "JOIN pg_catalog.pg_class b "
					 "ON b.oid = f.confrelid "
					 "WHERE f.contype = 'f'"),
			       NULL, 0, reference_row, c);
	return err < 0 ? err : 0;
}

static int stray_row(const struct db_value *row, size_t columns, void *arg)
{
	struct copy *c = arg;

	(void)columns;
	if (!find_table(c, row[0].bytes))
		log_warning("database %s: its table %s is not one of "
			    "offhook-controller and is not copied",
			    c->source.name, (const char *)row[0].bytes);
	return 0;
}

static int tell_stray(struct copy *c)
{
	struct db *db = c->source.db;
	int err = db_query(
		db,
		db_choose(db,
			  "SELECT name FROM sqlite_master WHERE type = 'table' "
			  "AND name NOT LIKE 'sqlite_%'",
			  "SELECT tablename FROM pg_catalog.pg_tables "
			  "WHERE schemaname = current_schema()"),
		NULL, 0, stray_row, c);

	return err < 0 ? err : 0;
}

static int count_rows(struct copy *c)
{
	char sql[SQL_BYTES];

	for (size_t i = 0; i < c->ret->count; i++) {
		int64_t rows = 0;
		int err;

		str_print(sql, sizeof(sql), "SELECT count(*) FROM \"%s\"",
			  c->ret->tables[i].name);
		err = db_query(c->source.db, sql, NULL, 0, db_integer_row,
			       &rows);
		if (err < 0)
			return failed(&c->source, c->ret->tables[i].name, err);
		c->total += rows;
	}
	return 0;
}

/* ---- the rows of a table ---- */

struct reading {
	struct copy *c;
	const struct table *t;
	struct table_rows *rows;
	struct db *to; /* NULL: the rows are only counted and hashed */
	int to_err;    /* of it */
};

/* A number of the hash, least significant byte first. */
static void hash_number(crypto_generichash_state *state, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	crypto_generichash_update(state, bytes, sizeof(bytes));
}

static void hash_value(crypto_generichash_state *state,
		       const struct db_value *v)
{
	const uint8_t type = (uint8_t)v->type;
	/* SQLite has no negative 0 */
	const double real = v->real == 0 ? 0 : v->real;
	uint64_t bits;

	crypto_generichash_update(state, &type, 1);
	switch (v->type) {
	case DB_INT:
		hash_number(state, (uint64_t)v->integer);
		break;
	case DB_REAL:
		memcpy(&bits, &real, sizeof(bits));
		hash_number(state, bits);
		break;
	case DB_TEXT:
	case DB_BLOB:
		hash_number(state, v->len);
		crypto_generichash_update(state, v->bytes, v->len);
		break;
	case DB_NULL:
	default:
		break;
	}
}

static void add_row(struct table_rows *rows, const struct db_value *row,
		    size_t columns)
{
	uint8_t hash[8 * TABLE_COPY_SUMS];
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	for (size_t i = 0; i < columns; i++)
		hash_value(&state, &row[i]);
	crypto_generichash_final(&state, hash, sizeof(hash));
	for (size_t i = 0; i < sizeof(hash); i++)
		rows->sums[i / 8] += (uint64_t)hash[i] << 8 * (i % 8);
	rows->count++;
}

static void tell_progress(const struct reading *r)
{
	const struct copy *c = r->c;

	if (c->p->progress_h)
		c->p->progress_h(r->to ? "copying" : "comparing",
				 r->t->copied->name, c->done, 2 * c->total,
				 c->p->arg);
}

static int read_row(const struct db_value *row, size_t columns, void *arg)
{
	struct reading *r = arg;

	add_row(r->rows, row, columns);
	if (++r->c->done % ROWS_TOLD == 0) {
		if (r->c->p->stop_h(r->c->p->arg))
			return -ECANCELED;
		tell_progress(r);
	}
	if (r->to)
		r->to_err = db_load_row(r->to, row);
	return r->to_err;
}

/* Deliver all rows of a query that has no parameters. PostgreSQL: libpq has a
 * whole result in memory, so a cursor asks for one part after another. */
static int scan(struct db *db, const char *table, const char *sql,
		struct reading *r)
{
	char text[SQL_BYTES];
	int err;

	if (db_dialect(db) == DB_SQLITE)
		return db_query(db, sql, NULL, 0, read_row, r);
	err = str_print(text, sizeof(text),
			"DECLARE \"all_%s\" NO SCROLL CURSOR FOR %s", table,
			sql);
	if (err >= 0)
		err = run(db, text);
	if (err < 0)
		return err;
	str_print(text, sizeof(text), "FETCH " FETCH_ROWS " FROM \"all_%s\"",
		  table);
	do
		err = db_query(db, text, NULL, 0, read_row, r);
	while (err > 0);
	if (err < 0)
		return err;
	str_print(text, sizeof(text), "CLOSE \"all_%s\"", table);
	return run(db, text);
}

static int read_table(struct reading *r, const struct side *from)
{
	const struct db_load *load = &r->t->load;
	char sql[SQL_BYTES] = "SELECT ";
	size_t used = strlen(sql);
	int err = 0;

	if (r->c->p->stop_h(r->c->p->arg))
		return -ECANCELED;
	tell_progress(r);
	for (size_t i = 0; i < load->count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used,
					 "%s\"%s\"", i ? ", " : "",
					 load->columns[i]);
	snprintf(sql + used, sizeof(sql) - used, " FROM \"%s\"", load->table);
	err = scan(from->db, load->table, sql, r);
	if (err < 0 && r->to_err == 0)
		return failed(from, load->table, err);
	return err < 0 ? err : 0;
}

static int set_triggers(const struct copy *c, const struct table *t, bool on)
{
	char sql[SQL_BYTES];

	if (db_dialect(c->destination.db) == DB_SQLITE)
		return 0;
	str_print(sql, sizeof(sql), "ALTER TABLE \"%s\" %s TRIGGER USER",
		  t->copied->name, on ? "ENABLE" : "DISABLE");
	return run(c->destination.db, sql);
}

static int fill_table(struct copy *c, const struct table *t)
{
	struct reading r = {.c = c,
			    .t = t,
			    .rows = &t->copied->source,
			    .to = c->destination.db};
	char sql[SQL_BYTES];
	int err;

	/* what the steps of the schema put there */
	str_print(sql, sizeof(sql), "DELETE FROM \"%s\"", t->copied->name);
	err = run(r.to, sql);
	if (err == 0)
		err = set_triggers(c, t, false);
	if (err == 0)
		err = db_load_begin(r.to, &t->load);
	if (err == 0) {
		err = read_table(&r, &c->source);
		if (err && r.to_err == 0)
			return err;
	}
	if (err == 0)
		err = db_load_end(r.to);
	if (err == 0)
		err = set_triggers(c, t, true);
	return err ? failed(&c->destination, t->copied->name, err) : 0;
}

static int fill_tables(struct copy *c)
{
	size_t left = c->ret->count;
	int err = 0;

	for (int depth = 0; left > 0 && err == 0; depth++) {
		for (size_t i = 0; i < c->ret->count && err == 0; i++) {
			if (c->tables[i].depth != depth)
				continue;
			err = fill_table(c, &c->tables[i]);
			left--;
		}
	}
	return err;
}

/* ---- numbers that are not given again ---- */

/* The highest id that a table ever gave. */
static int read_counter(struct db *db, const char *table, const char *column,
			int64_t *ret)
{
	const struct db_value names[] = {db_text(table), db_text(column)};
	int err = db_query(
		db,
		db_choose(db, "SELECT seq FROM sqlite_sequence WHERE name = $1",
			  "SELECT coalesce(pg_sequence_last_value(CAST("
			  "pg_get_serial_sequence($1, $2) AS regclass)), 0)"),
		names, 2, db_integer_row, ret);

	return err < 0 ? err : 0;
}

static int write_counter(struct db *db, const char *table, const char *column,
			 int64_t counter)
{
	const struct db_value values[] = {db_text(table), DB_I(counter)};
	char sql[SQL_BYTES];
	int err;

	if (db_dialect(db) == DB_SQLITE) {
		err = db_query(db,
			       "DELETE FROM sqlite_sequence WHERE name = $1",
			       values, 1, NULL, NULL);
		if (err >= 0 && counter > 0)
			err = db_query(
				db,
				"INSERT INTO sqlite_sequence (name, seq) "
				"VALUES ($1, $2)",
				values, 2, NULL, NULL);
		return err < 0 ? err : 0;
	}
	str_print(sql, sizeof(sql),
		  "SELECT setval(pg_get_serial_sequence('%s', '%s'), "
		  "greatest(max(\"%s\"), $1, 1), "
		  "greatest(max(\"%s\"), $1) > 0) FROM \"%s\"",
		  table, column, column, column, table);
	err = db_query(db, sql, &values[1], 1, NULL, NULL);
	return err < 0 ? err : 0;
}

struct identity {
	char table[TABLE_COPY_NAME_BYTES];
	char column[COLUMN_BYTES];
};

struct identities {
	struct identity all[TABLE_COPY_TABLES];
	size_t count;
};

static int identity_row(const struct db_value *row, size_t columns, void *arg)
{
	struct identities *found = arg;
	struct identity *i = &found->all[found->count];

	(void)columns;
	if (found->count == TABLE_COPY_TABLES ||
	    str_copy(i->table, sizeof(i->table), row[0].bytes) < 0 ||
	    str_copy(i->column, sizeof(i->column), row[1].bytes) < 0)
		return -EMSGSIZE;
	found->count++;
	return 0;
}

/* Go on counting where the source is. In SQLite a table has a counter of its own
 * only if an id must never be given twice (AUTOINCREMENT). */
static int copy_counters(struct copy *c)
{
	struct db *db = c->destination.db;
	struct identities found = {.count = 0};
	int err = db_query(
		db,
		db_choose(
			db,
			"SELECT name, 'id' FROM sqlite_master WHERE "
			"type = 'table' AND sql LIKE '%AUTOINCREMENT%'",
			"SELECT table_name, column_name FROM "
			"information_schema.columns WHERE is_identity = 'YES' "
			"AND table_schema = current_schema()"),
		NULL, 0, identity_row, &found);

	for (size_t i = 0; i < found.count && err >= 0; i++) {
		const struct identity *id = &found.all[i];
		int64_t counter = 0;

		err = read_counter(c->source.db, id->table, id->column,
				   &counter);
		if (err < 0)
			return failed(&c->source, id->table, err);
		err = write_counter(db, id->table, id->column, counter);
		if (err < 0)
			return failed(&c->destination, id->table, err);
	}
	return err < 0 ? failed(&c->destination, "(all)", err) : 0;
}

/* ---- the proof ---- */

static int orphan_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	(void)arg;
	log_error("table %s: a row refers to one of %s that is not there",
		  (const char *)row[0].bytes, (const char *)row[2].bytes);
	return -EBADMSG;
}

/* Read the destination again and compare. */
static int prove(struct copy *c)
{
	int err = 0;

	if (db_dialect(c->destination.db) == DB_SQLITE)
		err = db_query(c->destination.db, "PRAGMA foreign_key_check",
			       NULL, 0, orphan_row, NULL);
	for (size_t i = 0; i < c->ret->count && err >= 0; i++) {
		struct table_copied *t = &c->ret->tables[i];
		struct reading r = {
			.c = c, .t = &c->tables[i], .rows = &t->destination};

		err = read_table(&r, &c->destination);
	}
	for (size_t i = 0; i < c->ret->count && err >= 0; i++) {
		const struct table_copied *t = &c->ret->tables[i];

		if (table_rows_equal(&t->source, &t->destination))
			continue;
		log_error("database %s, table %s: what was read again is not "
			  "what was written",
			  c->destination.name, t->name);
		err = -EBADMSG;
	}
	return err < 0 ? err : 0;
}

static int copy_in_transaction(struct copy *c)
{
	int err = migrate_fill(c->destination.db, c->destination.name,
			       migrations, migration_count);

	if (err)
		return err;
	err = find_tables(c);
	if (err == 0)
		err = find_depths(c);
	if (err)
		return failed(&c->destination, "(all)", err);
	err = tell_stray(c);
	if (err)
		return failed(&c->source, "(all)", err);
	err = count_rows(c);
	if (err == 0)
		err = fill_tables(c);
	if (err == 0)
		err = copy_counters(c);
	return err ? err : prove(c);
}

static int copy(struct copy *c)
{
	int err = begin_source(c);

	if (err == 0)
		err = migrate_check(c->source.db, c->source.name, migrations,
				    migration_count);
	else
		failed(&c->source, "(all)", err);
	if (err)
		return err;
	err = begin_destination(c);
	if (err)
		return failed(&c->destination, "(all)", err);
	err = copy_in_transaction(c);
	if (err)
		return err;
	err = db_commit(c->destination.db);
	if (err == -ENOTCONN)
		log_error("database %s: the connection was lost while the copy "
			  "was committed: start it again; if it says that "
			  "the destination is not empty, all was copied",
			  c->destination.name);
	else if (err)
		failed(&c->destination, "(all)", err);
	return err;
}

int table_copy_all(const struct table_copy_params *p, struct table_copies *ret)
{
	struct copy c = {.p = p,
			 .ret = ret,
			 .source = {.lock_fd = -1},
			 .destination = {.lock_fd = -1}};
	int err;

	memset(ret, 0, sizeof(*ret));
	err = open_side(&c.source, p->source, true);
	if (err == 0)
		err = open_side(&c.destination, p->destination, false);
	if (err == 0)
		err = copy(&c);
	close_side(&c.destination);
	close_side(&c.source);
	free(c.tables);
	return err;
}
