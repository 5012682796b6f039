#include "control/server/store/store_login_failure.h"

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <sodium.h>

/* Longer than what is sent as a name (PASSWORD_MAX), and any address. */
#define SUBJECT_TEXT_BYTES 1100

struct login_subject login_subject(const struct store *s, const char *kind,
				   const char *text)
{
	char named[SUBJECT_TEXT_BYTES];
	struct login_subject subject;

	str_print(named, sizeof(named), "login %s %s", kind, text);
	secret_hash(store_secrets(s), named, subject.hash);
	sodium_memzero(named, sizeof(named));
	return subject;
}

static int failures_row(const struct db_value *row, size_t columns, void *arg)
{
	struct login_failures *ret = arg;

	(void)columns;
	ret->failures = (unsigned)row[0].integer;
	ret->last_ms = row[1].integer;
	return 0;
}

int store_login_failures(struct store *s, const struct login_subject *subject,
			 struct login_failures *ret)
{
	const struct db_value param =
		db_blob(subject->hash, sizeof(subject->hash));
	struct login_failures found = {.failures = 0};
	int err = db_query(store_reader(s),
			   "SELECT failures, last_at FROM login_failure WHERE "
			   "subject = $1",
			   &param, 1, failures_row, &found);

	if (err < 0)
		return err;
	*ret = found;
	return 0;
}

static int count_one(struct db *db, const struct login_subject *subject,
		     int64_t now_ms, int64_t forget_ms)
{
	const struct db_value params[] = {
		db_blob(subject->hash, sizeof(subject->hash)),
		DB_I(now_ms),
		DB_I(now_ms - forget_ms),
	};

	return db_query(
		db,
		"INSERT INTO login_failure (subject, failures, last_at) "
		"VALUES ($1, 1, $2) ON CONFLICT (subject) DO UPDATE SET "
		"failures = CASE WHEN login_failure.last_at < $3 THEN 1 "
		"ELSE login_failure.failures + 1 END, "
		"last_at = excluded.last_at",
		params, 3, NULL, NULL);
}

static int forget(struct db *db, int64_t before_ms, int64_t keep)
{
	const struct db_value params[] = {DB_I(before_ms), DB_I(keep)};

	return db_query(db,
			"DELETE FROM login_failure WHERE last_at < $1 OR "
			"last_at < (SELECT min(last_at) FROM (SELECT last_at "
			"FROM login_failure ORDER BY last_at DESC LIMIT $2) "
			"newest)",
			params, 2, NULL, NULL);
}

/* Without an entry of the audit log: it is for what the request changes. */
static int begin(struct store *s, struct audit **audit, struct db **ret)
{
	*audit = *store_audit(s);
	*store_audit(s) = NULL;
	return store_write_begin(s, ret);
}

static int end(struct store *s, struct audit *audit, int err, bool begun)
{
	if (begun)
		err = store_write_end(s, err);
	*store_audit(s) = audit;
	return err < 0 ? err : 0;
}

int store_login_failed(struct store *s, const struct login_subject *subjects,
		       size_t count, int64_t now_ms, int64_t forget_ms,
		       int64_t keep)
{
	struct audit *audit;
	struct db *db;
	int err = begin(s, &audit, &db);
	const bool begun = err == 0;

	for (size_t i = 0; i < count && err >= 0; i++)
		err = count_one(db, &subjects[i], now_ms, forget_ms);
	if (err >= 0)
		err = forget(db, now_ms - forget_ms, keep);
	return end(s, audit, err, begun);
}

int store_login_passed(struct store *s, const struct login_subject *subject)
{
	const struct db_value param =
		db_blob(subject->hash, sizeof(subject->hash));
	struct audit *audit;
	struct db *db;
	int err = begin(s, &audit, &db);
	const bool begun = err == 0;

	if (begun)
		err = db_query(db,
			       "DELETE FROM login_failure WHERE subject = $1",
			       &param, 1, NULL, NULL);
	return end(s, audit, err, begun);
}
