#include "control/server/store/store_db.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "base/str.h"
#include "control/server/store/audit_entry.h"
#include "control/server/store/db_postgresql.h"
#include "control/server/store/db_sqlite.h"
#include "control/server/store/migrate.h"
#include "control/server/store/postgresql_uri.h"
#include "control/server/store/store_copy.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Timeout for the write lock and those of shared caches, which another thread may hold
 * while it waits for the database. After it the answer is 503. */
#define LOCK_WAIT_NS (5 * NS_PER_S)

struct database {
	char *path;                    /* constant; a file, or a URI */
	const struct secrets *secrets; /* constant, borrowed */
	int lock_fd;                   /* held while open */
	pthread_mutex_t write_lock;
	struct db *writer;         /* write_lock */
	uint64_t connections;      /* write_lock; of the writer, seen */
	pthread_mutex_t edit_lock; /* taken before write_lock */
	/* Counts commits. Released after each commit, acquired by
	 * store_changes(): rows read after the new count include the commit. */
	atomic_uint_fast64_t changes;
	struct shared {
		pthread_mutex_t lock;
		void *kept; /* lock; NULL: empty */
		store_cache_free_h *free_h;
	} shared[STORE_SHARED];
};

/* The snapshot in which rows were last read: PostgreSQL. */
struct snapshot {
	uint8_t hash[crypto_generichash_BYTES];
	uint64_t changes; /* how often another one was seen */
};

struct store {
	struct database *database;
	struct db *reader;
	struct snapshot snapshot;
	struct {
		bool locked; /* edit_lock is held */
		bool begun;  /* until the change is written */
		int err;     /* of its beginning */
	} edit;
	struct {
		const char *table; /* NULL: none yet */
		uint64_t changes;
		int64_t rows;
	} total;
	struct {
		void *kept; /* NULL: empty */
		store_cache_free_h *free_h;
	} caches[STORE_CACHES];
	const struct idempotency *claim; /* of the request; or NULL */
	struct audit *audit;             /* likewise */
};

/* Lock out other processes: SQLite 3.40 may corrupt a file if two of them reset
 * its WAL. */
static int take_lock(struct database *d)
{
	int err = database_lock(&d->lock_fd, d->path);

	if (err == -EBUSY)
		log_error("database %s is in use by another process: stop the "
			  "controller that has it, or ask that one (POST "
			  "/api-keys)",
			  d->path);
	else if (err)
		log_error("%s.lock: %s", d->path, strerror(-err));
	return err == 0 || err == -EBUSY ? err : -EIO;
}

/* Free the Idempotency-Keys of requests that a crash interrupted before they
 * started a run. Those of other controllers may be in progress: they lapse. */
static int free_names(struct db *db)
{
	int err = 0;

	if (db_is_alone(db))
		err = db_query(db,
			       "DELETE FROM idempotency "
			       "WHERE status IS NULL AND started IS NULL",
			       NULL, 0, NULL, NULL);
	return err < 0 ? err : 0;
}

bool database_is_file(const char *configured)
{
	return !postgresql_uri_is(configured);
}

/* The one place that knows which databases there are. */
static int connect_to(struct db **ret, const char *path, bool read_only)
{
	if (database_is_file(path))
		return db_sqlite_open(ret, path, read_only);
	return db_postgresql_open(ret, path, read_only);
}

/* Take the lock of other processes and connect. */
static int open_writer(struct database *d, char name[static PATH_MAX])
{
	int err = 0;

	if (database_is_file(d->path)) {
		str_copy(name, PATH_MAX, d->path);
		err = take_lock(d);
		db_sqlite_setup();
	} else {
		postgresql_uri_name(d->path, name);
	}
	return err ? err : connect_to(&d->writer, d->path, false);
}

/* Controllers that share a database have the same master key: the first one leaves
 * a value in the database by which the others know it. */
static int check_key(struct db *db, const char *name,
		     const struct secrets *secrets)
{
	char check[SECRETS_CHECK_BYTES];
	struct db_value param;
	int64_t same = 0;
	int err;

	if (db_dialect(db) != DB_POSTGRESQL)
		return 0;
	secrets_check(secrets, check);
	param = db_text(check);
	if (db_is_alone(db)) {
		err = db_query(db,
			       "INSERT INTO setting (name, value) VALUES "
			       "('master_key_check', $1) ON CONFLICT (name) DO "
			       "UPDATE SET value = excluded.value",
			       &param, 1, NULL, NULL);
		return err < 0 ? err : 0;
	}
	err = db_query(db,
		       "SELECT count(*) FROM setting WHERE name = "
		       "'master_key_check' AND value = $1",
		       &param, 1, db_integer_row, &same);
	if (err < 0 || same)
		return err < 0 ? err : 0;
	log_error("database %s: the master key is another one than that of the "
		  "controllers that are running: copy their key file",
		  name);
	return -EPERM;
}

bool database_is_alone(const struct database *d)
{
	return db_is_alone(d->writer);
}

int database_lock_alone(struct database *d)
{
	return db_lock_alone(d->writer);
}

int database_share(struct database *d)
{
	return db_lock_shared(d->writer);
}

int database_open(struct database **ret, const char *path,
		  const struct secrets *secrets)
{
	char name[PATH_MAX];
	struct database *d;
	int err = -ENOMEM;

	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->lock_fd = -1;
	d->secrets = secrets;
	pthread_mutex_init(&d->write_lock, NULL);
	pthread_mutex_init(&d->edit_lock, NULL);
	for (size_t i = 0; i < STORE_SHARED; i++)
		pthread_mutex_init(&d->shared[i].lock, NULL);
	d->path = strdup(path);
	if (!d->path)
		goto fail;
	err = open_writer(d, name);
	if (err == 0)
		err = migrate(d->writer, name, migrations, migration_count);
	if (err == 0)
		err = check_key(d->writer, name, secrets);
	if (err == 0)
		err = free_names(d->writer);
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
	for (size_t i = 0; i < STORE_SHARED; i++) {
		struct shared *shared = &d->shared[i];

		if (shared->kept)
			shared->free_h(shared->kept);
		pthread_mutex_destroy(&shared->lock);
	}
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
	err = connect_to(&s->reader, d->path, true);
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
	for (size_t i = 0; i < STORE_CACHES; i++)
		if (s->caches[i].kept)
			s->caches[i].free_h(s->caches[i].kept);
	free(s);
	return NULL;
}

bool store_is_shared(const struct store *s)
{
	return db_dialect(s->reader) == DB_POSTGRESQL;
}

const struct secrets *store_secrets(const struct store *s)
{
	return s->database->secrets;
}

int store_seal_json(struct store *s, const char *purpose, const json_t *value,
		    uint8_t **ret, size_t *ret_len)
{
	char *text = json_dumps(value, JSON_COMPACT);
	int err;

	if (!text)
		return -ENOMEM;
	err = secret_seal(store_secrets(s), purpose, text, strlen(text), ret,
			  ret_len);
	secret_wipe_free(text, strlen(text));
	return err;
}

int store_open_json(struct store *s, const char *purpose,
		    const struct db_value *box, json_t **ret)
{
	char *text;
	size_t len;
	int err;

	*ret = NULL;
	if (box->type != DB_BLOB)
		return 0;
	err = secret_open(store_secrets(s), purpose, box->bytes, box->len,
			  &text, &len);
	if (err)
		return err == -EBADMSG ? 0 : err;
	*ret = json_loadb(text, len, 0, NULL);
	secret_wipe_free(text, len);
	return *ret ? 0 : -ENOMEM;
}

int64_t store_now_ms(void)
{
	return clock_wall_ns() / NS_PER_MS;
}

static int snapshot_row(const struct db_value *row, size_t columns, void *arg)
{
	struct snapshot *s = arg;
	uint8_t hash[sizeof(s->hash)];

	(void)columns;
	crypto_generichash(hash, sizeof(hash), row[0].bytes, row[0].len, NULL,
			   0);
	if (memcmp(hash, s->hash, sizeof(hash)) != 0)
		s->changes++;
	memcpy(s->hash, hash, sizeof(hash));
	return 0;
}

/* Other processes write, too. What a statement sees is told by its snapshot: two
 * that are equal see the same rows. */
static uint64_t snapshot_changes(struct store *s)
{
	if (db_query(s->reader, "SELECT CAST(pg_current_snapshot() AS TEXT)",
		     NULL, 0, snapshot_row, &s->snapshot) <= 0)
		s->snapshot.changes++;
	return s->snapshot.changes;
}

uint64_t store_changes(struct store *s)
{
	if (db_dialect(s->reader) == DB_POSTGRESQL)
		return snapshot_changes(s);
	return atomic_load_explicit(&s->database->changes,
				    memory_order_acquire);
}

bool store_total(struct store *s, const char *table, uint64_t changes,
		 int64_t *ret)
{
	if (s->total.table != table || s->total.changes != changes)
		return false;
	*ret = s->total.rows;
	return true;
}

void store_total_keep(struct store *s, const char *table, uint64_t changes,
		      int64_t rows)
{
	s->total.table = table;
	s->total.changes = changes;
	s->total.rows = rows;
}

const struct idempotency **store_claim(struct store *s)
{
	return &s->claim;
}

struct audit **store_audit(struct store *s)
{
	return &s->audit;
}

void *store_cache(const struct store *s, enum store_cache which)
{
	return s->caches[which].kept;
}

void store_cache_keep(struct store *s, enum store_cache which, void *cache,
		      store_cache_free_h *free_h)
{
	s->caches[which].kept = cache;
	s->caches[which].free_h = free_h;
}

struct db *store_reader(struct store *s)
{
	return s->reader;
}

/* @return 0; an errno, as of pthread_mutex_clocklock() */
static int lock_for(pthread_mutex_t *lock, int64_t wait_ns)
{
#ifdef SANITIZED_THREAD
	/* The sanitizer does not know pthread_mutex_clocklock() (clang 14). */
	const int64_t until = clock_wall_ns() + wait_ns;
	const struct timespec deadline = {.tv_sec = until / NS_PER_S,
					  .tv_nsec = until % NS_PER_S};

	return pthread_mutex_timedlock(lock, &deadline);
#else
	const int64_t until = clock_mono_ns() + wait_ns;
	const struct timespec deadline = {.tv_sec = until / NS_PER_S,
					  .tv_nsec = until % NS_PER_S};

	return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &deadline);
#endif
}

int store_shared_lock(struct store *s, enum store_shared which, void **ret)
{
	struct shared *shared = &s->database->shared[which];

	if (lock_for(&shared->lock, LOCK_WAIT_NS))
		return -EBUSY;
	*ret = shared->kept;
	return 0;
}

void store_shared_keep(struct store *s, enum store_shared which, void *cache,
		       store_cache_free_h *free_h)
{
	struct shared *shared = &s->database->shared[which];

	shared->kept = cache;
	shared->free_h = free_h;
}

void store_shared_unlock(struct store *s, enum store_shared which)
{
	pthread_mutex_unlock(&s->database->shared[which].lock);
}

static void count_change(struct database *d)
{
	atomic_fetch_add_explicit(&d->changes, 1, memory_order_release);
}

/* While the writer was not connected another controller may have had the
 * database: nothing that was read before is valid. */
static void note_connection(struct database *d)
{
	const uint64_t connections = db_connections(d->writer);

	if (connections != d->connections)
		count_change(d);
	d->connections = connections;
}

static int begin(struct database *d)
{
	int err;

	if (lock_for(&d->write_lock, LOCK_WAIT_NS))
		return -EBUSY;
	err = db_begin(d->writer);
	note_connection(d);
	if (err) {
		log_error("database: %s", db_error(d->writer));
		pthread_mutex_unlock(&d->write_lock);
	}
	return err;
}

int store_write_begin(struct store *s, struct db **ret)
{
	struct database *d = s->database;
	int err = s->edit.err;

	/* the change of an edit belongs to the transaction that it began with */
	if (!err && !s->edit.begun)
		err = begin(d);
	s->edit.begun = false;
	if (err)
		return err;
	err = audit_begin(s->audit, d->writer);
	if (err)
		return store_write_end(s, err);
	*ret = d->writer;
	return 0;
}

static void give_up(struct database *d)
{
	db_rollback(d->writer);
	pthread_mutex_unlock(&d->write_lock);
}

int store_write_end(struct store *s, int result)
{
	struct database *d = s->database;

	if (result >= 0) {
		int err = db_commit(d->writer);

		if (err < 0)
			result = err;
		/* a commit may have succeeded whose answer was lost */
		if (err == 0 || err == -ENOTCONN)
			count_change(d);
	}
	if (result == -EIO || result == -ENOTCONN || result == -ENOSPC)
		log_error("database: %s", db_error(d->writer));
	audit_end(s->audit, result >= 0);
	if (result < 0)
		give_up(d);
	else
		pthread_mutex_unlock(&d->write_lock);
	return result;
}

void store_edit_begin(struct store *s)
{
	s->edit.locked = lock_for(&s->database->edit_lock, LOCK_WAIT_NS) == 0;
	if (!s->edit.locked) {
		s->edit.err = -EBUSY;
		return;
	}
	if (db_dialect(s->reader) != DB_POSTGRESQL)
		return;
	/* nobody else writes between what is read now and the change */
	s->edit.err = begin(s->database);
	s->edit.begun = !s->edit.err;
}

void store_edit_end(struct store *s)
{
	if (s->edit.begun) /* nothing was changed */
		give_up(s->database);
	s->edit.begun = false;
	s->edit.err = 0;
	if (s->edit.locked)
		pthread_mutex_unlock(&s->database->edit_lock);
	s->edit.locked = false;
}
