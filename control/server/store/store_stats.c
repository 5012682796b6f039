#include "control/server/store/store_stats.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/store_db.h"
#include "control/wire/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECIMAL_BYTES 400 /* %.6f of the largest double */

enum percentile {
	MEDIAN,
	P75,
	P90,
	P95,
	PERCENTILES
};

static const struct {
	const char *name;
	double fraction;
} percentiles[PERCENTILES] = {
	[MEDIAN] = {"median", 0.5},
	[P75] = {"p75", 0.75},
	[P90] = {"p90", 0.9},
	[P95] = {"p95", 0.95},
};

static int add_dimension(const struct db_value *row, size_t columns, void *arg)
{
	json_t *dimension =
		json_pack("{s:s, s:s, s:s}", "role", row[0].bytes, "dir",
			  row[1].bytes, "stats_measure", row[2].bytes);

	(void)columns;
	return json_array_append_new(arg, dimension) ? -ENOMEM : 0;
}

int store_stats_dimensions(struct store *s, const struct stats_scope *scope,
			   json_t **ret)
{
	const struct db_value param = DB_I(scope->id);
	json_t *list = json_array();
	int err;

	err = db_query(
		store_reader(s),
		scope->test ? "SELECT DISTINCT s.role, s.dir, s.measure "
			      "FROM series s JOIN run r ON r.id = s.run_id "
			      "WHERE r.test_id = $1 AND "
			      "r.metrics_removed_at IS NULL ORDER BY 1, 2, 3"
			    : "SELECT s.role, s.dir, s.measure FROM series s "
			      "JOIN run r ON r.id = s.run_id WHERE r.id = $1 "
			      "AND r.metrics_removed_at IS NULL ORDER BY 1, 2, "
			      "3",
		&param, 1, add_dimension, list);
	if (err < 0) {
		json_decref(list);
		return err;
	}
	*ret = list;
	return 0;
}

/* One record while the points of its agents are read. */
struct record {
	char session_id[UUID_TEXT_BYTES];
	char role[64];
	char dir[8];
	int64_t t;
	unsigned points;
	double n, min, max;
	double sum;             /* of n * avg */
	double square;          /* of n * (stddev^2 + avg^2) */
	double least_n, most_n; /* of a point */
	double sum_min, sum_max;
	double avg, stddev; /* of a single point, as received */
	double values[PERCENTILES];
	struct sketch *sketch; /* NULL: none, or a point had none */
};

struct reading {
	json_t *list;
	struct record record;
	bool open; /* record is being filled */
	bool sums; /* calls of a second, which add up over agents */
};

/* The columns of a row, in the order of the SELECT. */
enum point_column {
	COL_SESSION,
	COL_ROLE,
	COL_DIR,
	COL_T,
	COL_N,
	COL_MIN,
	COL_MAX,
	COL_AVG,
	COL_STDDEV,
	COL_PERCENTILES,
	COL_SKETCH = COL_PERCENTILES + PERCENTILES,
};

static json_t *decimal(double value)
{
	char text[DECIMAL_BYTES];
	char *end;

	snprintf(text, sizeof(text), "%.6f", value);
	end = text + strlen(text) - 1;
	while (*end == '0')
		*end-- = '\0';
	if (*end == '.')
		*end = '\0';
	return json_string(strcmp(text, "-0") == 0 ? "0" : text);
}

static void drop_sketch(struct record *r)
{
	free(r->sketch);
	r->sketch = NULL;
}

static int merge_sketch(struct record *r, const struct db_value *v, bool first)
{
	json_t *encoded = NULL;

	if (first) {
		r->sketch = calloc(1, sizeof(*r->sketch));
		if (!r->sketch)
			return -ENOMEM;
	}
	if (v->type == DB_TEXT)
		encoded = json_loadb(v->bytes, v->len, 0, NULL);
	if (r->sketch && wire_sketch_add(r->sketch, encoded))
		drop_sketch(r); /* a point without a sketch: no percentiles */
	json_decref(encoded);
	return 0;
}

static int begin_record(struct record *r, const struct db_value *row)
{
	memset(r, 0, sizeof(*r));
	r->t = row[COL_T].integer;
	r->least_n = INFINITY;
	r->min = db_number(&row[COL_MIN]);
	r->max = db_number(&row[COL_MAX]);
	if (str_copy(r->session_id, sizeof(r->session_id),
		     row[COL_SESSION].bytes) ||
	    str_copy(r->role, sizeof(r->role), row[COL_ROLE].bytes) ||
	    str_copy(r->dir, sizeof(r->dir), row[COL_DIR].bytes))
		return -EIO;
	return 0;
}

static int add_point(struct record *r, const struct db_value *row)
{
	double n = db_number(&row[COL_N]);

	r->avg = db_number(&row[COL_AVG]);
	r->stddev = db_number(&row[COL_STDDEV]);
	r->n += n;
	r->least_n = fmin(r->least_n, n);
	r->most_n = fmax(r->most_n, n);
	r->sum_min += db_number(&row[COL_MIN]);
	r->sum_max += db_number(&row[COL_MAX]);
	r->sum += n * r->avg;
	r->square += n * (r->stddev * r->stddev + r->avg * r->avg);
	r->min = fmin(r->min, db_number(&row[COL_MIN]));
	r->max = fmax(r->max, db_number(&row[COL_MAX]));
	for (int i = 0; i < PERCENTILES; i++)
		r->values[i] = db_number(&row[COL_PERCENTILES + i]);
	return merge_sketch(r, &row[COL_SKETCH], r->points++ == 0);
}

static json_t *percentile(const struct record *r, int i)
{
	double value;

	if (r->points == 1)
		return decimal(r->values[i]);
	if (!r->sketch || r->sketch->n == 0)
		return json_null();
	value = sketch_quantile(r->sketch, percentiles[i].fraction);
	return decimal(fmin(fmax(value, r->min), r->max));
}

/* Take the points of several agents together. */
static void merge_points(struct record *r)
{
	r->avg = r->sum / r->n;
	r->stddev = sqrt(fmax(r->square / r->n - r->avg * r->avg, 0));
}

/* Likewise of the calls of a second. The mean of the sums is known; the least and the most lie
 * between these; how they are spread is not known. */
static void add_up_points(struct record *r)
{
	r->avg = r->sum / r->most_n;
	r->stddev = NAN;
	r->max = r->sum_max;
	if (r->least_n == r->most_n)
		r->min = r->sum_min;
	drop_sketch(r);
}

/* Append the record that was read; releases its sketch. */
static int end_record(struct reading *reading)
{
	struct record *r = &reading->record;
	char time[CLOCK_TEXT_BYTES];
	json_t *record;

	if (!reading->open)
		return 0;
	reading->open = false;
	if (r->points > 1 && r->n > 0)
		(reading->sums ? add_up_points : merge_points)(r);
	clock_format(time, r->t * NS_PER_S);
	record = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}",
			   "session_id", r->session_id, "role", r->role, "dir",
			   r->dir, "time", time, "avg", decimal(r->avg), "min",
			   decimal(r->min), "max", decimal(r->max), "stddev",
			   isnan(r->stddev) ? json_null() : decimal(r->stddev));
	for (int i = 0; i < PERCENTILES; i++)
		json_object_set_new(record, percentiles[i].name,
				    percentile(r, i));
	drop_sketch(r);
	if (json_array_size(reading->list) >= STATS_RECORDS_MAX) {
		json_decref(record);
		return -EMSGSIZE;
	}
	return json_array_append_new(reading->list, record) ? -ENOMEM : 0;
}

static bool same_record(const struct record *r, const struct db_value *row)
{
	return r->t == row[COL_T].integer &&
	       strcmp(r->session_id, row[COL_SESSION].bytes) == 0 &&
	       strcmp(r->role, row[COL_ROLE].bytes) == 0 &&
	       strcmp(r->dir, row[COL_DIR].bytes) == 0;
}

static int read_point(const struct db_value *row, size_t columns, void *arg)
{
	struct reading *reading = arg;
	int err = 0;

	(void)columns;
	if (!reading->open || !same_record(&reading->record, row)) {
		err = end_record(reading);
		if (err == 0)
			err = begin_record(&reading->record, row);
		if (err)
			return err;
		reading->open = true;
	}
	return add_point(&reading->record, row);
}

#define POINTS                                                                \
	"SELECT r.session_id, s.role, s.dir, p.t, p.n, p.min, p.max, p.avg, " \
	"p.stddev, p.median, p.p75, p.p90, p.p95, p.sketch_json "             \
	"FROM run r JOIN series s ON s.run_id = r.id "                        \
	"JOIN point p ON p.series_id = s.id "
#define NARROWED                                                                             \
	" AND r.metrics_removed_at IS NULL AND s.measure = $2 AND ($3 = '' OR s.role = $3) " \
	"AND ($4 = '' OR s.dir = $4) "                                                       \
	"ORDER BY r.id, p.t, s.role, s.dir, p.lease_id"

int store_stats_data(struct store *s, const struct stats_scope *scope,
		     const char *measure, const char *role, const char *dir,
		     json_t **ret)
{
	const struct db_value params[] = {
		DB_I(scope->id),
		db_text(measure),
		db_text(role ? role : ""),
		db_text(dir ? dir : ""),
	};
	struct reading reading = {
		.list = json_array(),
		.sums = strcmp(measure, "calls_active") == 0 ||
			strcmp(measure, "calls_per_sec") == 0,
	};
	int err;

	err = db_query(store_reader(s),
		       scope->test ? POINTS "WHERE r.test_id = $1" NARROWED
				   : POINTS "WHERE r.id = $1" NARROWED,
		       params, 4, read_point, &reading);
	if (err >= 0)
		err = end_record(&reading);
	drop_sketch(&reading.record);
	if (err) {
		json_decref(reading.list);
		return err;
	}
	*ret = reading.list;
	return 0;
}
