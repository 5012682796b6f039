#include "control/server/store/store_rate.h"

#include "control/server/store/store_db.h"

static int take_one(struct db *db, const struct store_rate *taken,
		    int64_t since_us)
{
	const struct db_value params[] = {
		DB_I(taken->key_id),
		DB_I(since_us + taken->us),
		DB_I(since_us),
		DB_I(taken->us),
	};

	return db_query(db,
			"INSERT INTO key_rate (key_id, full_at_us) VALUES "
			"($1, $2) ON CONFLICT (key_id) DO UPDATE SET "
			"full_at_us = CASE WHEN key_rate.full_at_us < $3 "
			"THEN excluded.full_at_us "
			"ELSE key_rate.full_at_us + $4 END",
			params, 4, NULL, NULL);
}

int store_rate_take(struct store *s, const struct store_rate *taken,
		    size_t count, int64_t since_us)
{
	const struct db_value full =
		DB_I(since_us - RATE_KEPT_S * INT64_C(1000000));
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = db_query(db, "DELETE FROM key_rate WHERE full_at_us < $1", &full,
		       1, NULL, NULL);
	for (size_t i = 0; i < count && err >= 0; i++)
		err = take_one(db, &taken[i], since_us);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

struct reading {
	struct store_rate *ret;
	size_t count;
};

static int rate_row(const struct db_value *row, size_t columns, void *arg)
{
	struct reading *r = arg;

	(void)columns;
	r->ret[r->count++] =
		(struct store_rate){row[0].integer, row[1].integer};
	return 0;
}

int store_rate_read(struct store *s, int64_t now_us, int64_t since_us,
		    struct store_rate *ret, size_t max)
{
	const struct db_value params[] = {DB_I(now_us), DB_I(since_us),
					  DB_I((int64_t)max)};
	struct reading r = {.ret = ret};
	int err = db_query(store_reader(s),
			   "SELECT key_id, full_at_us - $1 FROM key_rate WHERE "
			   "full_at_us > $2 ORDER BY full_at_us DESC LIMIT $3",
			   params, 3, rate_row, &r);

	return err < 0 ? err : (int)r.count;
}
