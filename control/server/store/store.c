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

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Timeout for the write lock, which another thread's transaction holds while it
 * waits for the file. After it the answer is 503. */
#define WRITE_WAIT_NS (5 * NS_PER_S)

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
};

struct store {
	struct database *database;
	struct db *reader;
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
 * started a run. */
static int free_names(struct db *db)
{
	int err = db_query(db,
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
	d->path = strdup(path);
	if (!d->path)
		goto fail;
	err = open_writer(d, name);
	if (err == 0)
		err = migrate(d->writer, name, migrations, migration_count);
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

bool store_total(struct store *s, const char *table, int64_t *ret)
{
	if (s->total.table != table || s->total.changes != store_changes(s))
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

int store_write_begin(struct store *s, struct db **ret)
{
	struct database *d = s->database;
	int err;

	if (lock_for(&d->write_lock, WRITE_WAIT_NS))
		return -EBUSY;
	err = db_begin(d->writer);
	note_connection(d);
	if (err) {
		log_error("database: %s", db_error(d->writer));
		pthread_mutex_unlock(&d->write_lock);
		return err;
	}
	err = audit_begin(s->audit, d->writer);
	if (err)
		return store_write_end(s, err);
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
		/* a commit may have succeeded whose answer was lost */
		if (err == 0 || err == -ENOTCONN)
			count_change(d);
	}
	if (result == -EIO || result == -ENOTCONN)
		log_error("database: %s", db_error(d->writer));
	if (result < 0)
		db_rollback(d->writer);
	audit_end(s->audit, result >= 0);
	pthread_mutex_unlock(&d->write_lock);
	return result;
}
