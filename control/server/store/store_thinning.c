#include "control/server/store/store_thinning.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_point_part.h"
#include "control/server/store/store_retention.h"
#include "control/server/store/store_run_internal.h"
#include "control/wire/sketch.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Join the points of each series in one block: only such blocks are thinned. The run takes
 * less of the database then, so the size that retention noted is measured again. */
static int fold(struct db *db, int64_t run_id)
{
	const struct db_value params[] = {DB_I(run_id),
					  DB_I(RETENTION_ROW_BYTES)};
	int err = points_fold(db, run_id);

	if (err == 0)
		err = db_query(db,
			       "UPDATE run_size SET metrics = (SELECT "
			       "CAST(coalesce(sum($2 + length(block)), 0) AS "
			       "BIGINT) FROM point_block WHERE run_id = $1) "
			       "WHERE run_id = $1",
			       params, 2, NULL, NULL);
	return err < 0 ? err : 0;
}

int thinning_add(struct db *db, int64_t run_id, int64_t now_ms)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(now_ms),
					  DB_I(THIN_INTERVAL_S)};
	int err =
		db_query(db,
			 "UPDATE run SET metrics_thinned_at = $2, interval_s "
			 "= interval_s * (($3 + interval_s - 1) / interval_s) "
			 "WHERE id = $1 AND interval_s > 0 AND "
			 "interval_s < $3 AND "
			 "metrics_thinned_at IS NULL AND "
			 "metrics_removed_at IS NULL",
			 params, 3, NULL, NULL);

	if (err > 0)
		err = db_query(db,
			       "INSERT INTO thinning (run_id, series_id, "
			       "lease_id, seq) VALUES ($1, 0, '', 0)",
			       params, 1, NULL, NULL);
	return err > 0 ? fold(db, run_id) : err;
}

static int next_row(const struct db_value *row, size_t columns, void *arg)
{
	struct thinning *t = arg;

	(void)columns;
	t->run_id = row[0].integer;
	t->interval_s = row[2].integer;
	t->series_id = row[3].integer;
	t->seq = row[5].integer;
	return str_copy(t->session_id, sizeof(t->session_id), row[1].bytes) ||
			       str_copy(t->lease_id, sizeof(t->lease_id),
					row[4].bytes)
		       ? -EIO
		       : 0;
}

int store_thinning_next(struct store *s, struct thinning *ret)
{
	/* CROSS JOIN: SQLite would go through all runs first */
	return db_query(store_reader(s),
			"SELECT h.run_id, r.session_id, r.interval_s, "
			"h.series_id, h.lease_id, h.seq FROM thinning h CROSS "
			"JOIN run r WHERE r.id = h.run_id AND r." RUN_SHOWN
			" ORDER BY h.run_id LIMIT 1",
			NULL, 0, next_row, ret);
}

/* ---- reading and merging ---- */

#define PERCENTILES 4

static const double fractions[PERCENTILES] = {0.5, 0.75, 0.9, 0.95};

/* The points of an agent within one interval. */
struct group {
	size_t first, points; /* of the part */
	int64_t n;
	double min, max;
	double sum;          /* of n * avg */
	double mean, square; /* of all so far; sum of squares about it */
	bool known;          /* every point has its distribution */
};

struct chunk {
	struct points_part part; /* blocks 0: the series has no more */
	int64_t series_id;       /* 0: there is none */
	int64_t interval_s;
	/* what its points become; texts[i]: the sketch of merged[i], or NULL */
	struct series_point *merged;
	char **texts;
	size_t count;
	size_t rest; /* the last ones, which belong to an interval that goes on */
	bool is_changed; /* there is something to write */
};

static void chunk_release(struct chunk *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->merged);
	points_part_release(&c->part);
}

static double between(double value, double min, double max)
{
	return fmin(fmax(value, min), max);
}

static void add_sketch(struct group *g, const struct series_point *p,
		       struct sketch *sketch)
{
	json_t *encoded;

	if (p->sketch.at) {
		encoded = json_loadb(p->sketch.at, p->sketch.len, 0, NULL);
		if (wire_sketch_add(sketch, encoded))
			g->known = false;
		json_decref(encoded);
	} else if (p->d.n == 1) {
		sketch_add(sketch, p->d.avg);
	} else {
		g->known = false;
	}
}

/* Mean and squares of two sets together (Chan, Golub, LeVeque 1979): the difference of
 * large squares would lose a small deviation. */
static void add_moments(struct group *g, double n, double avg, double stddev)
{
	const double before = (double)g->n, delta = avg - g->mean;

	g->mean += delta * n / (before + n);
	g->square +=
		n * stddev * stddev + delta * delta * before * n / (before + n);
}

static void add_to_group(struct group *g, const struct series_point *p,
			 struct sketch *sketch)
{
	const struct distribution *d = &p->d;

	g->points++;
	add_moments(g, (double)d->n, d->avg, d->stddev);
	g->n += (int64_t)d->n;
	g->min = fmin(g->min, d->min);
	g->max = fmax(g->max, d->max);
	g->sum += (double)d->n * d->avg;
	add_sketch(g, p, sketch);
}

static int64_t begin_of(const struct chunk *c, const struct series_point *p)
{
	return p->t_s - p->t_s % c->interval_s;
}

/* Find the points of the interval that begins at an index. */
static struct group read_group(const struct chunk *c, size_t first,
			       struct sketch *sketch)
{
	const struct series_point *points = c->part.points;
	const int64_t begin = begin_of(c, &points[first]);
	struct group g = {.first = first,
			  .min = INFINITY,
			  .max = -INFINITY,
			  .known = true};

	memset(sketch, 0, sizeof(*sketch));
	for (size_t i = first;
	     i < c->part.count && begin_of(c, &points[i]) == begin; i++)
		add_to_group(&g, &points[i], sketch);
	return g;
}

/* Append points as they are. */
static void keep_points(struct chunk *c, size_t first, size_t count)
{
	memcpy(&c->merged[c->count], &c->part.points[first],
	       count * sizeof(*c->merged));
	c->count += count;
}

static int merge_group(struct chunk *c, const struct group *g,
		       const struct sketch *sketch)
{
	const double n = (double)g->n;
	double percentiles[PERCENTILES];
	struct series_point *to = &c->merged[c->count];
	json_t *encoded = wire_sketch_encode(sketch);
	char *text = json_dumps(encoded, JSON_COMPACT);

	json_decref(encoded);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < PERCENTILES; i++)
		percentiles[i] = between(sketch_quantile(sketch, fractions[i]),
					 g->min, g->max);
	*to = (struct series_point){
		.t_s = begin_of(c, &c->part.points[g->first]),
		.d = {.n = (uint64_t)g->n,
		      .min = g->min,
		      .max = g->max,
		      .avg = between(g->sum / n, g->min, g->max),
		      .median = percentiles[0],
		      .p75 = percentiles[1],
		      .p90 = percentiles[2],
		      .p95 = percentiles[3],
		      .stddev = sqrt(g->square / n)},
		.sketch = {text, strlen(text)}};
	c->texts[c->count++] = text;
	return 0;
}

static int close_group(struct chunk *c, const struct group *g,
		       const struct sketch *sketch)
{
	const int64_t begin = begin_of(c, &c->part.points[g->first]);

	if (g->known && g->points > 1) {
		c->is_changed = true;
		return merge_group(c, g, sketch);
	}
	keep_points(c, g->first, g->points);
	if (g->known && c->merged[c->count - 1].t_s != begin) {
		c->is_changed = true; /* alone: it only gets another time */
		c->merged[c->count - 1].t_s = begin;
	}
	return 0;
}

/* Merge the points of each interval. The last one may go on in the next block. */
static int merge_part(struct chunk *c)
{
	struct points_part *part = &c->part;
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	int err = 0;

	c->merged = calloc(part->count + 1, sizeof(*c->merged));
	c->texts = calloc(part->count + 1, sizeof(*c->texts));
	if (!sketch || !c->merged || !c->texts)
		err = -ENOMEM;
	for (size_t i = 0; i < part->count && err == 0;) {
		const struct group g = read_group(c, i, sketch);

		i += g.points;
		if (i == part->count && !part->lease_ends) {
			c->rest = g.points;
			keep_points(c, g.first, g.points);
			c->is_changed = true;
		} else {
			err = close_group(c, &g, sketch);
		}
	}
	free(sketch);
	return err;
}

/* Find the series, and blocks of it that have about as many points as a chunk. */
static int read_chunk(struct store *s, const struct thinning *t,
		      struct chunk *c)
{
	const struct db_value params[] = {DB_I(t->run_id), DB_I(t->series_id)};
	struct points_cursor from = {.run_id = t->run_id, .seq = INT64_MIN};
	int rows = db_query(store_reader(s),
			    "SELECT id FROM series WHERE run_id = $1 AND "
			    "id >= $2 ORDER BY id LIMIT 1",
			    params, 2, db_integer_row, &c->series_id);
	int err;

	if (rows <= 0)
		return rows;
	from.series_id = c->series_id;
	if (c->series_id == t->series_id && t->lease_id[0]) {
		memcpy(from.lease_id, t->lease_id, sizeof(from.lease_id));
		from.seq = t->seq;
	}
	err = points_part_read(store_reader(s), &from, THIN_CHUNK_POINTS,
			       &c->part);
	/* the rest of a series with a damaged block stays as it is */
	if (err == -EBADMSG)
		return 0;
	return err || c->part.blocks == 0 ? err : merge_part(c);
}

/* ---- writing ---- */

/* @return 1; 0 another controller has come further; -EIO */
static int note_progress(struct db *db, const struct thinning *t,
			 const struct chunk *c)
{
	const bool series_done = c->part.blocks == 0;
	const struct points_cursor *last = &c->part.last;
	const struct db_value params[] = {
		DB_I(t->run_id),
		DB_I(t->series_id),
		db_text(t->lease_id),
		DB_I(t->seq),
		DB_I(series_done ? c->series_id + 1 : c->series_id),
		db_text(series_done ? "" : last->lease_id),
		/* the next part begins with the block that the rest is in */
		DB_I(series_done ? 0
		     : c->rest   ? last->seq - 1
				 : last->seq),
	};

	if (!c->series_id)
		return db_query(db,
				"DELETE FROM thinning WHERE run_id = $1 AND "
				"series_id = $2 AND lease_id = $3 AND seq = $4",
				params, 4, NULL, NULL);
	return db_query(db,
			"UPDATE thinning SET series_id = $5, lease_id = $6, "
			"seq = $7 WHERE run_id = $1 AND series_id = $2 AND "
			"lease_id = $3 AND seq = $4",
			params, 7, NULL, NULL);
}

/* Write the blocks, and count off what retention counts of the run, as
 * store_retention.c measured it. */
static int write_merged(struct db *db, int64_t run_id, const struct chunk *c)
{
	const struct points_part *part = &c->part;
	const size_t blocks = c->rest && c->rest < c->count ? 2 : 1;
	size_t bytes = 0;
	int err = points_part_replace(db, part, c->merged, c->count, c->rest,
				      &bytes);

	if (err)
		return err;
	const struct db_value params[] = {
		DB_I(run_id),
		DB_I((int64_t)part->blocks * RETENTION_ROW_BYTES +
		     (int64_t)part->bytes -
		     (int64_t)(blocks * RETENTION_ROW_BYTES + bytes))};

	err = db_query(db,
		       "UPDATE run_size SET metrics = metrics - $2 WHERE "
		       "run_id = $1",
		       params, 2, NULL, NULL);
	return err < 0 ? err : 0;
}

static int write_chunk(struct store *s, const struct thinning *t,
		       const struct chunk *c)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = note_progress(db, t, c);
	if (err == 0)
		err = -EAGAIN;
	else if (err > 0)
		err = c->is_changed ? write_merged(db, t->run_id, c) : 0;
	return store_write_end(s, err);
}

int store_thinning_step(struct store *s, const struct thinning *t)
{
	struct chunk c = {.interval_s = t->interval_s};
	int err = read_chunk(s, t, &c);

	if (!err)
		err = write_chunk(s, t, &c);
	if (!err)
		err = c.series_id != 0;
	chunk_release(&c);
	return err == -EAGAIN ? 1 : err;
}
