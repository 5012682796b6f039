#include "control/server/store/lease_clock.h"

#include "base/clock.h"
#include "control/server/store/store_lease_db.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What the kernel corrects without a step is less. */
#define SET_MS 1000

/* Wall clock less monotonic clock, ms; 0: not read yet. Relaxed: it publishes
 * nothing else. */
static _Atomic int64_t offset_ms;

static int64_t mono_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

static int64_t offset_now(void)
{
	return clock_wall_ns() / NS_PER_MS - mono_ms();
}

static int64_t offset_kept(void)
{
	int64_t kept = atomic_load_explicit(&offset_ms, memory_order_relaxed);
	int64_t now;

	if (kept)
		return kept;
	now = offset_now();
	if (atomic_compare_exchange_strong(&offset_ms, &kept, now))
		return now;
	return kept; /* another thread was first */
}

int64_t lease_clock_ms(void)
{
	return mono_ms() + offset_kept();
}

static int end_future_polls(struct db *db, int64_t now)
{
	const struct db_value params[] = {DB_I(now)};
	int err = lease_exec(db,
			     "UPDATE agent SET polled_at = $1 "
			     "WHERE polled_at > $1",
			     params, 1);

	return err < 0 ? err
		       : lease_exec(db,
				    "UPDATE agent SET last_seen = $1 "
				    "WHERE last_seen > $1",
				    params, 1);
}

/* Several controllers would move the same rows, each once: in PostgreSQL they stay
 * where they are but for those of the future. @return 1; -EIO */
static int move_polls(struct db *db, int64_t set_ms)
{
	const struct db_value params[] = {DB_I(set_ms)};
	int err;

	if (db_dialect(db) == DB_POSTGRESQL)
		err = end_future_polls(db, lease_clock_ms() + set_ms);
	else
		err = lease_exec(db,
				 "UPDATE agent SET polled_at = polled_at + $1, "
				 "last_seen = last_seen + $1",
				 LEASE_PARAMS(params));
	return err < 0 ? err : 1;
}

/* @return 1; 0: runs are in progress; -EIO */
static int follow(struct db *db, int64_t set_ms)
{
	int64_t active;
	int err =
		lease_integer(db, "SELECT count(*) FROM run WHERE " RUN_ACTIVE,
			      NULL, 0, &active);

	return err || active ? err : move_polls(db, set_ms);
}

int lease_clock_follow(struct store *s, int64_t *set_ms)
{
	int64_t by = offset_now() - offset_kept();
	struct db *db;
	int err;

	*set_ms = 0;
	if (llabs(by) < SET_MS)
		return 0;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = follow(db, by);
	if (err > 0) {
		atomic_fetch_add_explicit(&offset_ms, by, memory_order_relaxed);
		*set_ms = by;
	}
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

static int end_future(struct db *db, int64_t now, int64_t lease_ms)
{
	const struct db_value params[] = {DB_I(now), DB_I(now + lease_ms)};
	int err = end_future_polls(db, now);

	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE lease SET expires_at = $2 WHERE "
				 "expires_at > $2 AND $1 > 0 AND "
				 "state IN ('offered', 'started')",
				 LEASE_PARAMS(params));
	return err;
}

int lease_clock_start(struct store *s, int64_t lease_ms)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = store_write_end(s, end_future(db, lease_clock_ms(), lease_ms));
	return err < 0 ? err : 0;
}
