#include "control/server/store/lease_clock.h"

#include "base/clock.h"
#include "control/server/store/store_lease_db.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What the kernel corrects without a step is less. */
#define SET_US INT64_C(1000000)

/* The database's clock is read again after this. */
#define READ_NS (10 * NS_PER_S)

/* Two clocks drift apart by less, ns in a ns: as agents reckon (controller_clock.c). */
#define DRIFT_DIVISOR 10000

/* Written by the thread that calls lease_clock_start() and lease_clock_follow(), relaxed: each
 * value is of use alone, and publishes nothing else. */
static _Atomic int64_t
	offset_us; /* our clock less the monotonic one; 0: not read yet */
static _Atomic int64_t error_us; /* of the database's clock, when it was read */
static _Atomic int64_t read_ns;  /* when that was; 0: it is this host's clock */
static _Atomic int64_t tried_ns; /* when it was last to be read */

#define GET(variable) atomic_load_explicit(&(variable), memory_order_relaxed)
#define SET(variable, value) \
	atomic_store_explicit(&(variable), (value), memory_order_relaxed)

static int64_t wall_offset(void)
{
	return (clock_wall_ns() - clock_mono_ns()) / NS_PER_US;
}

static int64_t offset_kept(void)
{
	int64_t kept = GET(offset_us);
	int64_t now;

	if (kept)
		return kept;
	now = wall_offset();
	if (atomic_compare_exchange_strong(&offset_us, &kept, now))
		return now;
	return kept; /* another thread was first */
}

int64_t lease_clock_ms(void)
{
	return (clock_mono_ns() / NS_PER_US + offset_kept()) / 1000;
}

static int64_t error_at(int64_t now_ns)
{
	const int64_t read = GET(read_ns);

	if (!read)
		return 0;
	return GET(error_us) + (now_ns - read) / DRIFT_DIVISOR / NS_PER_US;
}

int64_t lease_clock_error_us(void)
{
	return error_at(clock_mono_ns());
}

struct reading {
	int64_t offset_us;
	int64_t error_us;
	int64_t read_ns;
};

/* The answer was made between the request and its receipt. */
static int database_read(struct store *s, struct reading *ret)
{
	const int64_t before_ns = clock_mono_ns();
	int64_t us, half_ns;
	int err = lease_integer(store_reader(s),
				"SELECT CAST(extract(epoch FROM "
				"clock_timestamp()) * 1000000 AS BIGINT)",
				NULL, 0, &us);

	if (err)
		return err;
	half_ns = (clock_mono_ns() - before_ns) / 2;
	*ret = (struct reading){
		.offset_us = us - (before_ns + half_ns) / NS_PER_US,
		.error_us = half_ns / NS_PER_US + 1,
		.read_ns = before_ns + half_ns,
	};
	return 0;
}

static void take(const struct reading *r)
{
	SET(offset_us, r->offset_us);
	SET(error_us, r->error_us);
	SET(read_ns, r->read_ns);
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

/* Read the clock that ours follows. @return 1; 0 it is not due, or known better from before;
 * -EIO */
static int clock_read(struct store *s, struct reading *ret)
{
	const int64_t now_ns = clock_mono_ns();
	int err;

	if (db_dialect(store_reader(s)) != DB_POSTGRESQL) {
		*ret = (struct reading){.offset_us = wall_offset()};
		return 1;
	}
	if (now_ns - GET(tried_ns) < READ_NS)
		return 0;
	SET(tried_ns, now_ns);
	err = database_read(s, ret);
	if (err)
		return err;
	return !GET(read_ns) || ret->error_us <= error_at(ret->read_ns) ||
	       llabs(ret->offset_us - GET(offset_us)) >= SET_US;
}

int lease_clock_follow(struct store *s, int64_t *set_ms)
{
	struct reading r = {.offset_us = 0};
	struct db *db;
	int64_t by;
	int err;

	*set_ms = 0;
	err = clock_read(s, &r);
	if (err <= 0)
		return err;
	by = r.offset_us - offset_kept();
	if (llabs(by) < SET_US) {
		if (r.read_ns) /* the clocks of several controllers stay together */
			take(&r);
		return 0;
	}
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = follow(db, by / 1000);
	if (err > 0) {
		take(&r);
		*set_ms = by / 1000;
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
	struct reading r = {.offset_us = 0};
	struct db *db;
	int err = clock_read(s, &r);

	if (err < 0)
		return err;
	if (err)
		take(&r);
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = store_write_end(s, end_future(db, lease_clock_ms(), lease_ms));
	return err < 0 ? err : 0;
}
