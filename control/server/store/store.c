#include "control/server/store/store_db.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/store/db_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SCHEMA_VERSION "1"

extern const char store_schema[]; /* schema.sql, embedded */

struct database {
	char *path;                    /* constant */
	const struct secrets *secrets; /* constant, borrowed */
	int lock_fd;                   /* held while open */
	pthread_mutex_t write_lock;
	struct db *writer;         /* write_lock */
	pthread_mutex_t edit_lock; /* taken before write_lock */
};

struct store {
	struct database *database;
	struct db *reader;
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
	log_error("database %s is in use by another process", d->path);
	return -EBUSY;
}

static int version_row(const struct db_value *row, size_t columns, void *arg)
{
	bool *matches = arg;

	(void)columns;
	*matches = strcmp(row[0].bytes, SCHEMA_VERSION) == 0;
	return 0;
}

static int apply_schema(struct database *d)
{
	const struct db_value version = db_text(SCHEMA_VERSION);
	bool matches = false;
	int err;

	err = db_script(d->writer, store_schema);
	if (err == 0)
		err = db_query(d->writer,
			       "INSERT INTO setting (name, value) "
			       "VALUES ('schema_version', $1) "
			       "ON CONFLICT (name) DO NOTHING",
			       &version, 1, NULL, NULL);
	if (err >= 0)
		err = db_query(d->writer,
			       "SELECT value FROM setting "
			       "WHERE name = 'schema_version'",
			       NULL, 0, version_row, &matches);
	if (err < 0) {
		log_error("database %s: %s", d->path, db_error(d->writer));
		return -EIO;
	}
	if (!matches) {
		log_error("database %s was made by another version of this "
			  "program (schema version is not " SCHEMA_VERSION ")",
			  d->path);
		return -EIO;
	}
	return 0;
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
	if (err == 0)
		err = db_sqlite_open(&d->writer, path, false);
	if (err == 0)
		err = apply_schema(d);
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

struct db *store_reader(struct store *s)
{
	return s->reader;
}

int store_write_begin(struct store *s, struct db **ret)
{
	struct database *d = s->database;
	int err;

	pthread_mutex_lock(&d->write_lock);
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
	}
	if (result == -EIO)
		log_error("database: %s", db_error(d->writer));
	if (result < 0)
		db_rollback(d->writer);
	pthread_mutex_unlock(&d->write_lock);
	return result;
}
