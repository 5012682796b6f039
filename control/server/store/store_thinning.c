#include "control/server/store/store_thinning.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_retention.h"
#include "control/server/store/store_run_internal.h"
#include "control/wire/sketch.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int thinning_add(struct db *db, int64_t run_id, int64_t now_ms)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(now_ms),
					  DB_I(THIN_INTERVAL_S)};
	int err =
		db_query(db,
			 "UPDATE run SET metrics_thinned_at = $2, interval_s "
			 "= interval_s * (($3 + interval_s - 1) / interval_s) "
			 "WHERE id = $1 AND interval_s < $3 AND "
			 "metrics_thinned_at IS NULL AND "
			 "metrics_removed_at IS NULL",
			 params, 3, NULL, NULL);

	if (err > 0)
		err = db_query(db,
			       "INSERT INTO thinning (run_id, series_id, t) "
			       "VALUES ($1, 0, 0)",
			       params, 1, NULL, NULL);
	return err < 0 ? err : 0;
}

static int next_row(const struct db_value *row, size_t columns, void *arg)
{
	struct thinning *t = arg;

	(void)columns;
	t->run_id = row[0].integer;
	t->interval_s = row[2].integer;
	t->series_id = row[3].integer;
	t->t = row[4].integer;
	return str_copy(t->session_id, sizeof(t->session_id), row[1].bytes)
		       ? -EIO
		       : 0;
}

int store_thinning_next(struct store *s, struct thinning *ret)
{
	/* CROSS JOIN: SQLite would go through all runs first */
	return db_query(store_reader(s),
			"SELECT h.run_id, r.session_id, r.interval_s, "
			"h.series_id, h.t FROM thinning h CROSS JOIN run r "
			"WHERE r.id = h.run_id AND r." RUN_SHOWN
			" ORDER BY h.run_id LIMIT 1",
			NULL, 0, next_row, ret);
}

/* ---- reading and merging ---- */

#define PERCENTILES 4

static const double fractions[PERCENTILES] = {0.5, 0.75, 0.9, 0.95};

/* The points of an agent within one interval. */
struct group {
	char lease_id[UUID_TEXT_BYTES];
	int64_t begin;   /* of the interval */
	int64_t first_t; /* of the first point */
	int64_t points;
	int64_t n;
	double min, max;
	double sum;          /* of n * avg */
	double mean, square; /* of all so far; sum of squares about it */
	int64_t bytes;       /* of their sketches */
	bool known;          /* every point has its distribution */
};

/* What a group becomes. */
struct merged {
	struct group from;
	double percentiles[PERCENTILES];
	char *sketch; /* NULL: one point, which only gets another time */
};

struct chunk {
	int64_t series_id; /* 0: there is none */
	int64_t begin, end;
	int64_t interval_s;
	struct merged *merged;
	size_t count, room;
	struct group group; /* being read; points 0: none */
	struct sketch *sketch;
};

static void chunk_release(struct chunk *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->merged[i].sketch);
	free(c->merged);
	free(c->sketch);
}

static double between(double value, double min, double max)
{
	return fmin(fmax(value, min), max);
}

static int close_group(struct chunk *c)
{
	const struct group *g = &c->group;
	struct merged *m;
	json_t *encoded;

	if (!g->points || !g->known ||
	    (g->points == 1 && g->first_t == g->begin))
		return 0;
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct merged *more =
			realloc(c->merged, room * sizeof(*c->merged));

		if (!more)
			return -ENOMEM;
		c->merged = more;
		c->room = room;
	}
	m = &c->merged[c->count];
	*m = (struct merged){.from = *g};
	if (g->points > 1) {
		for (size_t i = 0; i < PERCENTILES; i++)
			m->percentiles[i] = between(
				sketch_quantile(c->sketch, fractions[i]),
				g->min, g->max);
		encoded = wire_sketch_encode(c->sketch);
		m->sketch = json_dumps(encoded, JSON_COMPACT);
		json_decref(encoded);
		if (!m->sketch)
			return -ENOMEM;
	}
	c->count++;
	return 0;
}

enum thinned_column {
	COL_LEASE,
	COL_T,
	COL_N,
	COL_MIN,
	COL_MAX,
	COL_AVG,
	COL_STDDEV,
	COL_SKETCH
};

static void add_sketch(struct chunk *c, const struct db_value *row)
{
	struct group *g = &c->group;
	const struct db_value *text = &row[COL_SKETCH];
	json_t *encoded = NULL;

	if (text->type == DB_TEXT) {
		g->bytes += (int64_t)text->len;
		encoded = json_loadb(text->bytes, text->len, 0, NULL);
		if (wire_sketch_add(c->sketch, encoded))
			g->known = false;
		json_decref(encoded);
	} else if (row[COL_N].integer == 1) {
		sketch_add(c->sketch, db_number(&row[COL_AVG]));
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

static int point_row(const struct db_value *row, size_t columns, void *arg)
{
	struct chunk *c = arg;
	struct group *g = &c->group;
	const int64_t t = row[COL_T].integer;
	const int64_t begin = t - t % c->interval_s;
	const int64_t n = row[COL_N].integer;
	const double avg = db_number(&row[COL_AVG]);
	const double stddev = db_number(&row[COL_STDDEV]);

	(void)columns;
	if (!g->points || g->begin != begin ||
	    strcmp(g->lease_id, row[COL_LEASE].bytes) != 0) {
		int err = close_group(c);

		if (err)
			return err;
		*g = (struct group){.begin = begin,
				    .first_t = t,
				    .min = INFINITY,
				    .max = -INFINITY,
				    .known = true};
		memset(c->sketch, 0, sizeof(*c->sketch));
		if (str_copy(g->lease_id, sizeof(g->lease_id),
			     row[COL_LEASE].bytes))
			return -EIO;
	}
	g->points++;
	add_moments(g, (double)n, avg, stddev);
	g->n += n;
	g->min = fmin(g->min, db_number(&row[COL_MIN]));
	g->max = fmax(g->max, db_number(&row[COL_MAX]));
	g->sum += (double)n * avg;
	add_sketch(c, row);
	return 0;
}

/* @param offset  how many points come before it
 * @return 1 and the time of a point at or after a time; 0 there is none; -EIO */
static int time_of(struct store *s, const struct chunk *c, int64_t offset,
		   int64_t *ret)
{
	const struct db_value params[] = {DB_I(c->series_id), DB_I(c->begin),
					  DB_I(offset)};

	return db_query(store_reader(s),
			"SELECT t FROM point WHERE series_id = $1 AND t >= $2 "
			"ORDER BY t LIMIT 1 OFFSET $3",
			params, 3, db_integer_row, ret);
}

/* Find the series, and the whole intervals that have about as many points as a chunk.
 * @return 0; -EIO */
static int find_range(struct store *s, const struct thinning *t,
		      struct chunk *c)
{
	const struct db_value params[] = {DB_I(t->run_id), DB_I(t->series_id)};
	int64_t first = 0, last = 0;
	int rows = db_query(store_reader(s),
			    "SELECT id FROM series WHERE run_id = $1 AND "
			    "id >= $2 ORDER BY id LIMIT 1",
			    params, 2, db_integer_row, &c->series_id);

	if (rows <= 0)
		return rows;
	if (c->series_id == t->series_id)
		c->begin = t->t;
	c->end = INT64_MAX;
	rows = time_of(s, c, 0, &first);
	if (rows > 0)
		rows = time_of(s, c, THIN_CHUNK_POINTS, &last);
	if (rows <= 0)
		return rows;
	first -= first % c->interval_s;
	last -= last % c->interval_s;
	c->end = last > first ? last : first + c->interval_s;
	return 0;
}

static int read_chunk(struct store *s, const struct thinning *t,
		      struct chunk *c)
{
	int err = find_range(s, t, c);

	if (err < 0 || !c->series_id)
		return err;
	c->sketch = calloc(1, sizeof(*c->sketch));
	if (!c->sketch)
		return -ENOMEM;
	const struct db_value params[] = {DB_I(c->series_id), DB_I(c->begin),
					  DB_I(c->end)};

	err = db_query(store_reader(s),
		       "SELECT lease_id, t, n, min, max, avg, stddev, "
		       "sketch_json FROM point WHERE series_id = $1 AND "
		       "t >= $2 AND t < $3 ORDER BY lease_id, t",
		       params, 3, point_row, c);
	return err < 0 ? err : close_group(c);
}

/* ---- writing ---- */

/* @return 1; 0 another controller has come further; -EIO */
static int note_progress(struct db *db, const struct thinning *t,
			 const struct chunk *c)
{
	const bool series_done = c->end == INT64_MAX;
	const struct db_value params[] = {
		DB_I(t->run_id),
		DB_I(t->series_id),
		DB_I(t->t),
		DB_I(series_done ? c->series_id + 1 : c->series_id),
		DB_I(series_done ? 0 : c->end),
	};

	if (!c->series_id)
		return db_query(db,
				"DELETE FROM thinning WHERE run_id = $1 AND "
				"series_id = $2 AND t = $3",
				params, 3, NULL, NULL);
	return db_query(db,
			"UPDATE thinning SET series_id = $4, t = $5 WHERE "
			"run_id = $1 AND series_id = $2 AND t = $3",
			params, 5, NULL, NULL);
}

static int move_point(struct db *db, int64_t series_id, const struct group *g)
{
	const struct db_value params[] = {DB_I(series_id), db_text(g->lease_id),
					  DB_I(g->first_t), DB_I(g->begin)};
	int err = db_query(db,
			   "UPDATE point SET t = $4 WHERE series_id = $1 AND "
			   "lease_id = $2 AND t = $3",
			   params, 4, NULL, NULL);

	return err < 0 ? err : 0;
}

static int write_merged(struct db *db, const struct chunk *c,
			const struct merged *m)
{
	const struct group *g = &m->from;
	const double n = (double)g->n, avg = g->sum / n;
	const struct db_value params[] = {
		DB_I(c->series_id),
		DB_I(g->begin),
		db_text(g->lease_id),
		DB_I(g->n),
		DB_R(g->min),
		DB_R(g->max),
		DB_R(between(avg, g->min, g->max)),
		DB_R(m->percentiles[0]),
		DB_R(m->percentiles[1]),
		DB_R(m->percentiles[2]),
		DB_R(m->percentiles[3]),
		DB_R(sqrt(g->square / n)),
		db_text(m->sketch),
	};
	const struct db_value old[] = {DB_I(c->series_id), DB_I(g->begin),
				       db_text(g->lease_id),
				       DB_I(g->begin + c->interval_s)};
	int err;

	if (!m->sketch)
		return move_point(db, c->series_id, g);
	err = db_query(db,
		       "DELETE FROM point WHERE series_id = $1 AND t >= $2 AND "
		       "lease_id = $3 AND t < $4",
		       old, 4, NULL, NULL);
	if (err >= 0)
		err = db_query(db,
			       "INSERT INTO point (series_id, t, lease_id, n, "
			       "min, max, avg, median, p75, p90, p95, stddev, "
			       "sketch_json) VALUES ($1, $2, $3, $4, $5, $6, "
			       "$7, $8, $9, $10, $11, $12, $13)",
			       params, 13, NULL, NULL);
	return err < 0 ? err : 0;
}

/* Bytes that retention counts of the run, as store_retention.c measured them. */
static int count_off(struct db *db, int64_t run_id, const struct chunk *c)
{
	int64_t freed = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct merged *m = &c->merged[i];

		if (m->sketch)
			freed += (m->from.points - 1) * RETENTION_ROW_BYTES +
				 m->from.bytes - (int64_t)strlen(m->sketch);
	}
	const struct db_value params[] = {DB_I(run_id), DB_I(freed)};

	int err = db_query(db,
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
		err = 0;
	for (size_t i = 0; i < c->count && !err; i++)
		err = write_merged(db, c, &c->merged[i]);
	if (!err && c->count)
		err = count_off(db, t->run_id, c);
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
