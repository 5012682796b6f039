#include "control/server/store/store_db.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/store/db_sqlite.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* Raised with every change of schema.sql. */
#define SCHEMA_VERSION "10"

/* Another thread's transaction may take so long, as one that waits for a lock
 * on the file does; then the answer is 503. */
#define WRITE_WAIT_NS (5 * NS_PER_S)

/* Hex digits of the hash that stands beside the version, and the end. */
#define SCHEMA_PRINT_BYTES 17

extern const char store_schema[]; /* schema.sql, embedded */

struct database {
	char *path;                    /* constant */
	const struct secrets *secrets; /* constant, borrowed */
	int lock_fd;                   /* held while open */
	pthread_mutex_t write_lock;
	struct db *writer;         /* write_lock */
	pthread_mutex_t edit_lock; /* taken before write_lock */
	/* Counts commits. Released after each, acquired by store_changes(): what
	 * was read after a commit is not taken for older than it. */
	atomic_uint_fast64_t changes;
};

struct store {
	struct database *database;
	struct db *reader;
	struct store_total total;
	struct run_texts *run_texts;     /* store_run_text.c's; likewise */
	struct key_cache *keys;          /* store_key.c's; NULL: nothing yet */
	const struct idempotency *claim; /* of the request; or NULL */
};

/* SQLite 3.40 may corrupt a file whose WAL two processes reset: one only. */
static int take_lock(struct database *d)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.lock", d->path);
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		log_error("%s: %s", path, strerror(errno));
		return -EIO;
	}
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	log_error("database %s is in use by another process: stop the "
		  "controller that has it, or ask that one (POST /api-keys)",
		  d->path);
	return -EBUSY;
}

/* What a file says it was made by; "" it does not say. */
struct made_by {
	bool has_tables;
	char version[32];
	char print[SCHEMA_PRINT_BYTES];
};

static int tables_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	((struct made_by *)arg)->has_tables = row[0].integer > 0;
	return 0;
}

static int setting_row(const struct db_value *row, size_t columns, void *arg)
{
	struct made_by *m = arg;

	(void)columns;
	if (strcmp(row[0].bytes, "schema_version") == 0)
		snprintf(m->version, sizeof(m->version), "%s",
			 (const char *)row[1].bytes);
	else
		snprintf(m->print, sizeof(m->print), "%s",
			 (const char *)row[1].bytes);
	return 0;
}

/* A short hash of the schema without comments and blanks: it changes with
 * every table, even if the number was forgotten. */
static void schema_print(char print[static SCHEMA_PRINT_BYTES])
{
	uint8_t hash[crypto_generichash_BYTES_MIN];
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES_MIN);
	for (const char *c = store_schema; *c; c++) {
		if (c[0] == '-' && c[1] == '-')
			c += strcspn(c, "\n");
		if (!*c)
			break;
		if (!isspace((unsigned char)*c))
			crypto_generichash_update(&state,
						  (const unsigned char *)c, 1);
	}
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(print, SCHEMA_PRINT_BYTES, hash,
		       (SCHEMA_PRINT_BYTES - 1) / 2);
}

static int read_made_by(struct db *db, struct made_by *m)
{
	int err = db_query(db,
			   "SELECT count(*) FROM sqlite_master "
			   "WHERE type = 'table'",
			   NULL, 0, tables_row, m);

	if (err < 0 || !m->has_tables)
		return err < 0 ? err : 0;
	/* without the table it is no file of ours: an error, as it should be */
	err = db_query(db,
		       "SELECT name, value FROM setting WHERE name IN "
		       "('schema_version', 'schema_print')",
		       NULL, 0, setting_row, m);
	return err < 0 ? err : 0;
}

static int create_schema(struct db *db, const char *print)
{
	const struct db_value params[] = {db_text(SCHEMA_VERSION),
					  db_text(print)};
	int err = db_begin(db);

	if (err)
		return err;
	err = db_script(db, store_schema);
	if (err == 0)
		err = db_query(db,
			       "INSERT INTO setting (name, value) VALUES "
			       "('schema_version', $1), ('schema_print', $2)",
			       params, 2, NULL, NULL);
	if (err >= 0)
		err = db_commit(db);
	else
		db_rollback(db);
	return err;
}

/* A file of another schema is refused before anything is changed in it. */
static int apply_schema(struct database *d)
{
	struct made_by made = {.has_tables = false};
	char print[SCHEMA_PRINT_BYTES];
	int err;

	schema_print(print);
	err = read_made_by(d->writer, &made);
	if (err == 0 && !made.has_tables)
		err = create_schema(d->writer, print);
	if (err < 0) {
		log_error("database %s: %s", d->path, db_error(d->writer));
		return -EIO;
	}
	if (!made.has_tables || (strcmp(made.version, SCHEMA_VERSION) == 0 &&
				 strcmp(made.print, print) == 0))
		return 0;
	log_error("database %s has schema version %s (%s), this program needs "
		  "version " SCHEMA_VERSION " (%s): run the program that made "
		  "the file, or stop and move %s, %s-wal and %s-shm away to "
		  "start with an empty one",
		  d->path, made.version[0] ? made.version : "unknown",
		  made.print[0] ? made.print : "unmarked", print, d->path,
		  d->path, d->path);
	return -EPROTO;
}

int database_open(struct database **ret, const char *path,
		  const struct secrets *secrets)
{
	struct database *d;
	int err = -ENOMEM;

	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->lock_fd = -1;
	d->secrets = secrets;
	pthread_mutex_init(&d->write_lock, NULL);
	pthread_mutex_init(&d->edit_lock, NULL);
	d->path = strdup(path);
	if (!d->path)
		goto fail;
	err = take_lock(d);
	db_sqlite_setup();
	if (err == 0)
		err = db_sqlite_open(&d->writer, path, false);
	if (err == 0)
		err = apply_schema(d);
	if (err == 0)
		err = idempotency_recover(d->writer);
	if (err)
		goto fail;
	*ret = d;
	return 0;
fail:
	database_close(d);
	return err;
}

struct database *database_close(struct database *d)
{
	if (!d)
		return NULL;
	d->writer = db_close(d->writer);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	pthread_mutex_destroy(&d->write_lock);
	pthread_mutex_destroy(&d->edit_lock);
	free(d->path);
	free(d);
	return NULL;
}

int store_new(struct store **ret, struct database *d)
{
	struct store *s;
	int err;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->database = d;
	err = db_sqlite_open(&s->reader, d->path, true);
	if (err) {
		free(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct store *store_free(struct store *s)
{
	if (!s)
		return NULL;
	db_close(s->reader);
	run_texts_free(s->run_texts);
	key_cache_free(s->keys);
	free(s);
	return NULL;
}

void store_edit_begin(struct store *s)
{
	pthread_mutex_lock(&s->database->edit_lock);
}

void store_edit_end(struct store *s)
{
	pthread_mutex_unlock(&s->database->edit_lock);
}

const struct secrets *store_secrets(const struct store *s)
{
	return s->database->secrets;
}

int64_t store_now_ms(void)
{
	return clock_wall_ns() / NS_PER_MS;
}

uint64_t store_changes(const struct store *s)
{
	return atomic_load_explicit(&s->database->changes,
				    memory_order_acquire);
}

struct store_total *store_total(struct store *s)
{
	return &s->total;
}

const struct idempotency **store_claim(struct store *s)
{
	return &s->claim;
}

struct run_texts **store_run_texts(struct store *s)
{
	return &s->run_texts;
}

struct key_cache **store_key_cache(struct store *s)
{
	return &s->keys;
}

struct db *store_reader(struct store *s)
{
	return s->reader;
}

int store_write_begin(struct store *s, struct db **ret)
{
	struct database *d = s->database;
	const int64_t until = clock_mono_ns() + WRITE_WAIT_NS;
	const struct timespec deadline = {.tv_sec = until / NS_PER_S,
					  .tv_nsec = until % NS_PER_S};
	int err;

	if (pthread_mutex_clocklock(&d->write_lock, CLOCK_MONOTONIC, &deadline))
		return -EBUSY;
	err = db_begin(d->writer);
	if (err) {
		log_error("database: %s", db_error(d->writer));
		pthread_mutex_unlock(&d->write_lock);
		return err;
	}
	*ret = d->writer;
	return 0;
}

int store_write_end(struct store *s, int result)
{
	struct database *d = s->database;

	if (result >= 0) {
		int err = db_commit(d->writer);

		if (err < 0)
			result = err;
		else
			atomic_fetch_add_explicit(&d->changes, 1,
						  memory_order_release);
	}
	if (result == -EIO)
		log_error("database: %s", db_error(d->writer));
	if (result < 0)
		db_rollback(d->writer);
	pthread_mutex_unlock(&d->write_lock);
	return result;
}
