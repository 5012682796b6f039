#include "control/server/store/store_stats.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/store_bounds.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"
#include "control/wire/sketch.h"
#include "control/wire/text.h"

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

/* One record while the points of its agents are taken together. */
struct record {
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

/* A record that is written, and its place among those of a run. */
struct written {
	int64_t t_s;
	char role[64];
	char dir[8];
	json_t *json;
};

struct reading {
	json_t *list;
	const char *session_id;
	struct written *run; /* records of the run being read */
	size_t count, room;
	bool sums; /* calls of a second, which add up over agents */
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

static int merge_sketch(struct record *r, struct json_text text, bool first)
{
	json_t *encoded = NULL;

	if (first) {
		r->sketch = calloc(1, sizeof(*r->sketch));
		if (!r->sketch)
			return -ENOMEM;
	}
	if (text.at)
		encoded = json_loadb(text.at, text.len, 0, NULL);
	if (r->sketch && wire_sketch_add(r->sketch, encoded))
		drop_sketch(r); /* a point without a sketch: no percentiles */
	json_decref(encoded);
	return 0;
}

static int add_point(struct record *r, const struct series_point *p)
{
	const struct distribution *d = &p->d;
	const double n = (double)d->n;
	const double values[PERCENTILES] = {d->median, d->p75, d->p90, d->p95};

	r->avg = d->avg;
	r->stddev = d->stddev;
	r->n += n;
	r->least_n = fmin(r->least_n, n);
	r->most_n = fmax(r->most_n, n);
	r->sum_min += d->min;
	r->sum_max += d->max;
	r->sum += n * r->avg;
	r->square += n * (r->stddev * r->stddev + r->avg * r->avg);
	r->min = fmin(r->min, d->min);
	r->max = fmax(r->max, d->max);
	memcpy(r->values, values, sizeof(values));
	return merge_sketch(r, p->sketch, r->points++ == 0);
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

/* @return a record of points that were taken together; releases their sketch */
static json_t *write_record(const struct reading *reading,
			    const struct points_series *series, int64_t t_s,
			    struct record *r)
{
	char time[CLOCK_TEXT_BYTES];
	json_t *record;

	if (r->points > 1 && r->n > 0)
		(reading->sums ? add_up_points : merge_points)(r);
	clock_format(time, t_s * NS_PER_S);
	record = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}",
			   "session_id", reading->session_id, "role",
			   series->role, "dir", series->dir, "time", time,
			   "avg", decimal(r->avg), "min", decimal(r->min),
			   "max", decimal(r->max), "stddev",
			   isnan(r->stddev) ? json_null() : decimal(r->stddev));
	for (int i = 0; i < PERCENTILES; i++)
		json_object_set_new(record, percentiles[i].name,
				    percentile(r, i));
	drop_sketch(r);
	return record;
}

static int add_record(struct reading *reading,
		      const struct points_series *series, int64_t t_s,
		      json_t *json)
{
	struct written *w;

	if (json && json_array_size(reading->list) + reading->count >=
			    STATS_RECORDS_MAX) {
		json_decref(json);
		return -EMSGSIZE;
	}
	if (json && reading->count == reading->room) {
		size_t room = reading->room ? 2 * reading->room : 256;
		struct written *more =
			realloc(reading->run, room * sizeof(*reading->run));

		if (!more) {
			json_decref(json);
			return -ENOMEM;
		}
		reading->run = more;
		reading->room = room;
	}
	if (!json)
		return -ENOMEM;
	w = &reading->run[reading->count++];
	*w = (struct written){.t_s = t_s, .json = json};
	return str_copy(w->role, sizeof(w->role), series->role) ||
			       str_copy(w->dir, sizeof(w->dir), series->dir)
		       ? -EIO
		       : 0;
}

/* Points of one time are those of several agents. */
static int read_series(const struct points_series *series, void *arg)
{
	struct reading *reading = arg;
	int err = 0;

	for (size_t i = 0; i < series->count && err == 0;) {
		const int64_t t_s = series->points[i].p.t_s;
		struct record r = {
			.min = INFINITY, .max = -INFINITY, .least_n = INFINITY};

		while (i < series->count && series->points[i].p.t_s == t_s &&
		       err == 0)
			err = add_point(&r, &series->points[i++].p);
		if (err == 0)
			err = add_record(
				reading, series, t_s,
				write_record(reading, series, t_s, &r));
		drop_sketch(&r);
	}
	return err;
}

static int compare_records(const void *a, const void *b)
{
	const struct written *x = a, *y = b;
	int order;

	if (x->t_s != y->t_s)
		return x->t_s < y->t_s ? -1 : 1;
	order = strcmp(x->role, y->role);
	return order ? order : strcmp(x->dir, y->dir);
}

/* Append the records of a run, by time, or drop them. */
static int end_run(struct reading *reading, int err)
{
	if (reading->count)
		qsort(reading->run, reading->count, sizeof(*reading->run),
		      compare_records);
	for (size_t i = 0; i < reading->count; i++)
		if (err)
			json_decref(reading->run[i].json);
		else if (json_array_append_new(reading->list,
					       reading->run[i].json))
			err = -ENOMEM;
	reading->count = 0;
	return err;
}

struct scope_run {
	int64_t id;
	char session_id[UUID_TEXT_BYTES];
};

struct scope_runs {
	struct scope_run *all;
	size_t count, room;
};

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	struct scope_runs *runs = arg;
	struct scope_run *run;

	(void)columns;
	if (runs->count == runs->room) {
		size_t room = runs->room ? 2 * runs->room : 16;
		struct scope_run *more =
			realloc(runs->all, room * sizeof(*runs->all));

		if (!more)
			return -ENOMEM;
		runs->all = more;
		runs->room = room;
	}
	run = &runs->all[runs->count++];
	run->id = row[0].integer;
	return str_copy(run->session_id, sizeof(run->session_id), row[1].bytes)
		       ? -EIO
		       : 0;
}

/* Runs whose metrics are there, by id. */
static int find_runs(struct db *db, const struct stats_scope *scope,
		     struct scope_runs *ret)
{
	const struct db_value id = DB_I(scope->id);
	int err = db_query(
		db,
		scope->test ? "SELECT id, session_id FROM run WHERE test_id = "
			      "$1 AND metrics_removed_at IS NULL ORDER BY id"
			    : "SELECT id, session_id FROM run WHERE id = $1",
		&id, 1, run_row, ret);

	return err < 0 ? err : 0;
}

/* Give each record of a run its error bound, where it has one. */
static int add_bounds(struct store *s, int64_t run_id, const char *measure,
		      const json_t *list)
{
	json_t *bounds, *record;
	double bound;
	size_t i;
	int err = store_bounds_read(s, run_id, &bounds);

	if (err)
		return err;
	json_array_foreach(list, i, record)
	{
		if (!err &&
		    store_bounds_find(bounds, text_of(record, "role"),
				      text_of(record, "dir"), measure, &bound))
			err = json_object_set_new(record, "bound",
						  decimal(bound))
				      ? -ENOMEM
				      : 0;
	}
	json_decref(bounds);
	return err;
}

int store_stats_data(struct store *s, const struct stats_scope *scope,
		     const char *measure, const char *role, const char *dir,
		     json_t **ret)
{
	const char *const measures[] = {measure, NULL};
	struct points_query query = {
		.measures = measures,
		.role = role && role[0] ? role : NULL,
		.dir = dir && dir[0] ? dir : NULL,
	};
	struct reading reading = {
		.list = json_array(),
		.sums = strcmp(measure, "calls_active") == 0 ||
			strcmp(measure, "calls_per_sec") == 0,
	};
	struct scope_runs runs = {.count = 0};
	struct db *db = store_reader(s);
	int err = reading.list ? find_runs(db, scope, &runs) : -ENOMEM;

	for (size_t i = 0; i < runs.count && err == 0; i++) {
		query.run_id = runs.all[i].id;
		reading.session_id = runs.all[i].session_id;
		err = end_run(&reading,
			      points_read(db, &query, read_series, &reading));
	}
	free(runs.all);
	free(reading.run);
	if (!err && !scope->test)
		err = add_bounds(s, scope->id, measure, reading.list);
	if (err) {
		json_decref(reading.list);
		return err;
	}
	*ret = reading.list;
	return 0;
}
