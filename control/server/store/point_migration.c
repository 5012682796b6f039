#include "control/server/store/point_migration.h"

#include "base/buf.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Points that are converted together; a series has a block a lease of them. */
#define CHUNK_POINTS 20000

/* No more points are taken together than have so long sketches, but at least one. */
#define SKETCH_BYTES (16 * 1024 * 1024)

struct old_point {
	int64_t run_id;
	char lease_id[UUID_TEXT_BYTES];
	struct point_entry entry;
	size_t sketch_at; /* in the chunk's texts */
	size_t number;    /* in the order of the table */
};

struct chunk {
	struct old_point *points;
	size_t count;
	struct buf texts;
	struct point_entry *entries;
	int64_t seq; /* of the blocks that it becomes */
	/* the last row */
	int64_t series_id, t_s;
	char lease_id[UUID_TEXT_BYTES];
	int64_t rows;
	bool is_full;
};

static int point_row(const struct db_value *row, size_t columns, void *arg)
{
	struct chunk *c = arg;
	struct old_point *p = &c->points[c->count];
	const bool has_sketch = row[13].type == DB_TEXT;

	(void)columns;
	if (has_sketch && c->count > 0 &&
	    c->texts.used + row[13].len > SKETCH_BYTES) {
		c->is_full = true;
		return 1;
	}
	c->rows++;
	c->series_id = row[1].integer;
	c->t_s = row[2].integer;
	if (str_copy(c->lease_id, sizeof(c->lease_id), row[3].bytes))
		return -EIO;
	if (row[0].type != DB_INT)
		return 0; /* its series is gone */
	*p = (struct old_point){
		.run_id = row[0].integer,
		.entry = {row[1].integer,
			  {.t_s = row[2].integer,
			   .d = {.n = (uint64_t)row[4].integer,
				 .min = db_number(&row[5]),
				 .max = db_number(&row[6]),
				 .avg = db_number(&row[7]),
				 .median = db_number(&row[8]),
				 .p75 = db_number(&row[9]),
				 .p90 = db_number(&row[10]),
				 .p95 = db_number(&row[11]),
				 .stddev = db_number(&row[12])},
			   .sketch = {.len = has_sketch ? row[13].len : 0}}},
		.sketch_at = has_sketch ? c->texts.used : SIZE_MAX,
		.number = c->count++};
	memcpy(p->lease_id, c->lease_id, sizeof(p->lease_id));
	return has_sketch ? buf_add(&c->texts, row[13].bytes, row[13].len) : 0;
}

static int read_chunk(struct db *db, struct chunk *c)
{
	const struct db_value params[] = {DB_I(c->series_id), DB_I(c->t_s),
					  db_text(c->lease_id),
					  DB_I(CHUNK_POINTS)};
	int err;

	c->count = 0;
	c->rows = 0;
	c->is_full = false;
	buf_consume(&c->texts, c->texts.used);
	err = db_query(db,
		       "SELECT (SELECT run_id FROM series WHERE id = "
		       "p.series_id), p.series_id, p.t, p.lease_id, p.n, "
		       "p.min, p.max, p.avg, p.median, p.p75, p.p90, p.p95, "
		       "p.stddev, p.sketch_json FROM point p WHERE "
		       "(p.series_id, p.t, p.lease_id) > ($1, $2, $3) ORDER BY "
		       "p.series_id, p.t, p.lease_id LIMIT $4",
		       params, sizeof(params) / sizeof(*params), point_row, c);
	if (err < 0)
		return err;
	for (size_t i = 0; i < c->count; i++)
		if (c->points[i].sketch_at != SIZE_MAX)
			c->points[i].entry.p.sketch.at =
				c->texts.data + c->points[i].sketch_at;
	return 0;
}

static int compare_leases(const struct old_point *x, const struct old_point *y)
{
	if (x->run_id != y->run_id)
		return x->run_id < y->run_id ? -1 : 1;
	return strcmp(x->lease_id, y->lease_id);
}

static int compare_points(const void *a, const void *b)
{
	const struct old_point *x = a, *y = b;
	const int order = compare_leases(x, y);

	return order ? order : x->number < y->number ? -1 : 1;
}

/* Write the points of each lease. */
static int write_chunk(struct db *db, struct chunk *c)
{
	int err = 0;

	qsort(c->points, c->count, sizeof(*c->points), compare_points);
	for (size_t i = 0; i < c->count && err == 0;) {
		const struct old_point *first = &c->points[i];
		struct points_upload u = {.run_id = first->run_id,
					  .lease_id = first->lease_id,
					  .seq = c->seq,
					  .entries = c->entries};

		while (i < c->count && !compare_leases(first, &c->points[i]))
			c->entries[u.count++] = c->points[i++].entry;
		err = points_add_by_series(db, &u);
	}
	return err;
}

static int convert(struct db *db, struct chunk *c)
{
	int err;

	do {
		err = read_chunk(db, c);
		if (err == 0 && c->count)
			err = write_chunk(db, c);
		c->seq++;
	} while (err == 0 && (c->is_full || c->rows == CHUNK_POINTS));
	return err;
}

/* What retention counts of the runs that it has measured. */
static int measure_again(struct db *db)
{
	const struct db_value bytes = DB_I(RETENTION_ROW_BYTES);
	int err = db_query(db,
			   "UPDATE run_size SET metrics = (SELECT "
			   "CAST(coalesce(sum($1 + length(block)), 0) AS "
			   "BIGINT) FROM point_block b WHERE b.run_id = "
			   "run_size.run_id) WHERE metrics > 0",
			   &bytes, 1, NULL, NULL);

	return err < 0 ? err : 0;
}

int point_migration(struct db *db)
{
	struct chunk c = {
		.points = calloc(CHUNK_POINTS, sizeof(*c.points)),
		.entries = calloc(CHUNK_POINTS, sizeof(*c.entries)),
		.seq = -(INT64_C(1) << 40), /* before all uploads */
		.series_id = INT64_MIN,
	};
	int err = -ENOMEM;

	buf_init(&c.texts, POINT_BLOCK_BYTES_MAX);
	if (c.points && c.entries)
		err = convert(db, &c);
	buf_release(&c.texts);
	free(c.points);
	free(c.entries);
	if (err == 0)
		err = measure_again(db);
	if (err)
		return err;
	if (db_dialect(db) == DB_POSTGRESQL)
		return db_script(db, "DROP TRIGGER series_points ON series;"
				     "DROP FUNCTION series_points();"
				     "DROP TABLE point");
	return db_script(db, "DROP TABLE point");
}
