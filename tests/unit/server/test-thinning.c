/*
 * Thinning of metrics, in a database of SQLite, or of PostgreSQL if
 * OFFHOOK_TEST_DATABASE has the URI of one.
 */
#include "base/str.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_retention.h"
#include "control/server/store/store_secret.h"
#include "control/server/store/store_thinning.h"
#include "control/wire/sketch.h"
#include "media/analysis/sketch.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define T0        1700000000 /* a multiple of 10 */
#define SAMPLES   7          /* of a point */
#define FIRST_RUN 1000000

struct fixture {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
	int64_t run_id;
	uint32_t random;
	int64_t seq;        /* of the last upload */
	struct db *filling; /* the transaction of many rows; or NULL */
};

static int setup(void **state)
{
	const char *uri = getenv("OFFHOOK_TEST_DATABASE");
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	f->random = 1;
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database,
				       uri ? uri : temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	return store_new(&f->store, f->database);
}

static void execute(struct fixture *f, const char *sql,
		    const struct db_value *params, size_t count)
{
	struct db *db = f->filling;

	if (db) {
		assert_true(db_query(db, sql, params, count, NULL, NULL) >= 0);
		return;
	}
	assert_int_equal(store_write_begin(f->store, &db), 0);
	assert_true(store_write_end(f->store, db_query(db, sql, params, count,
						       NULL, NULL)) >= 0);
}

static void fill(struct fixture *f)
{
	assert_int_equal(store_write_begin(f->store, &f->filling), 0);
}

static void filled(struct fixture *f)
{
	f->filling = NULL;
	assert_int_equal(store_write_end(f->store, 0), 0);
}

static int64_t integer(struct fixture *f, const char *sql)
{
	const struct db_value run = DB_I(f->run_id);
	int64_t found = -1;

	assert_true(db_query(store_reader(f->store), sql, &run, 1,
			     db_integer_row, &found) >= 0);
	return found;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	execute(f, "DELETE FROM run", NULL, 0);
	store_free(f->store);
	database_close(f->database);
	secrets_free(f->secrets);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static void add_run(struct fixture *f, int64_t interval_s)
{
	const struct db_value params[] = {DB_I(FIRST_RUN), DB_I(interval_s)};

	f->run_id = FIRST_RUN;
	execute(f,
		"INSERT INTO run (id, session_id, test_name, testcase_name, "
		"project_name, agentpool_id, agentpool_name, tags_json, phase, status, "
		"conditions_json, record, interval_s, max_duration_s, "
		"created_at, stopped_at) VALUES ($1, 'a-session', 't', 't', 'p', 1, "
		"'a', '[]', 'done', 'passed', '[]', 'sip', $2, 60, 1, 2)",
		params, 2);
	execute(f,
		"INSERT INTO run_size (run_id, metrics, sip, artifacts, events) "
		"VALUES ($1, 0, 0, 0, 0)",
		params, 1);
}

static void add_series(struct fixture *f, int64_t id, const char *measure)
{
	const struct db_value params[] = {DB_I(id), DB_I(f->run_id),
					  db_text(measure)};

	execute(f,
		"INSERT INTO series (id, run_id, role, dir, measure) VALUES "
		"($1, $2, 'caller', 'in', $3)",
		params, 3);
}

/* Samples of a point, around 8000 with a small deviation. */
static double sample(struct fixture *f)
{
	f->random = f->random * 1664525 + 1013904223;
	return 8000 + (double)(f->random >> 8) / (1 << 24);
}

static void add_point(struct fixture *f, int64_t series_id, int64_t t,
		      const char *lease, bool with_sketch)
{
	double values[SAMPLES], sum = 0, square = 0, low = 1e9, high = 0;
	struct sketch sketch = {.n = 0};
	char *text = NULL;

	for (size_t i = 0; i < SAMPLES; i++) {
		values[i] = sample(f);
		sketch_add(&sketch, values[i]);
		sum += values[i];
		low = fmin(low, values[i]);
		high = fmax(high, values[i]);
	}
	for (size_t i = 0; i < SAMPLES; i++)
		square += pow(values[i] - sum / SAMPLES, 2);
	if (with_sketch) {
		json_t *encoded = wire_sketch_encode(&sketch);

		text = json_dumps(encoded, JSON_COMPACT);
		json_decref(encoded);
	}
	const double median =
		fmin(fmax(sketch_quantile(&sketch, 0.5), low), high);
	const struct point_entry entry = {
		series_id,
		{.t_s = t,
		 .d = {.n = SAMPLES,
		       .min = low,
		       .max = high,
		       .avg = sum / SAMPLES,
		       .median = median,
		       .p75 = median,
		       .p90 = median,
		       .p95 = median,
		       .stddev = sqrt(square / SAMPLES)},
		 .sketch = {text, text ? strlen(text) : 0}}};
	const struct points_upload upload = {.run_id = f->run_id,
					     .lease_id = lease,
					     .seq = ++f->seq,
					     .entries = &entry,
					     .count = 1};

	assert_int_equal(points_add(f->filling, &upload), 0);
	free(text);
}

/* Figures of all points of an agent. */
struct figures {
	int64_t points, n;
	double min, max, sum, square;
	struct sketch sketch;
};

struct figures_query {
	int64_t series_id;
	const char *lease;
	struct figures *ret;
};

static void add_figures(struct figures *ret, const struct series_point *p)
{
	const double n = (double)p->d.n, avg = p->d.avg, stddev = p->d.stddev;

	ret->points++;
	ret->n += (int64_t)p->d.n;
	ret->min = fmin(ret->min, p->d.min);
	ret->max = fmax(ret->max, p->d.max);
	ret->sum += n * avg;
	ret->square += n * (stddev * stddev + (avg - 8000) * (avg - 8000));
	if (p->sketch.at) {
		json_t *encoded =
			json_loadb(p->sketch.at, p->sketch.len, 0, NULL);

		assert_int_equal(wire_sketch_add(&ret->sketch, encoded), 0);
		json_decref(encoded);
	}
}

static int figures_of(const struct points_series *series, void *arg)
{
	const struct figures_query *q = arg;

	for (size_t i = 0; i < series->count && series->id == q->series_id; i++)
		if (strcmp(series->points[i].lease_id, q->lease) == 0)
			add_figures(q->ret, &series->points[i].p);
	return 0;
}

static void read_figures(struct fixture *f, int64_t series_id,
			 const char *lease, struct figures *ret)
{
	struct figures_query q = {series_id, lease, ret};

	*ret = (struct figures){.min = INFINITY, .max = -INFINITY};
	assert_int_equal(
		points_read(store_reader(f->store),
			    &(struct points_query){.run_id = f->run_id},
			    figures_of, &q),
		0);
}

static void assert_same(const struct figures *a, const struct figures *b)
{
	assert_int_equal(a->n, b->n);
	assert_true(a->min == b->min && a->max == b->max);
	assert_true(fabs(a->sum - b->sum) <=
		    1e-14 * a->sum * (double)a->points);
	assert_true(fabs(a->square - b->square) <= 1e-7 * a->square);
	assert_memory_equal(&a->sketch, &b->sketch, sizeof(a->sketch));
}

static void begin(struct fixture *f)
{
	const struct retention_mark mark = {f->run_id, RETENTION_THIN};

	assert_int_equal(store_retention_mark(f->store, &mark, 1, 4711, ""), 0);
}

/* Carry out what is left. @return number of transactions */
static int carry_out(struct fixture *f)
{
	struct thinning t;
	int steps = 0, more = 0;

	while (store_thinning_next(f->store, &t) > 0) {
		more = store_thinning_step(f->store, &t);
		assert_true(more >= 0);
		steps++;
	}
	assert_int_equal(more, 0);
	return steps;
}

#define BYTES                                                                \
	"SELECT CAST(coalesce(sum(115 + length(block)), 0) AS BIGINT) FROM " \
	"point_block WHERE run_id = $1"

static int wrong_points(const struct points_series *series, void *arg)
{
	int *wrong = arg;

	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *p = &series->points[i].p;

		*wrong += p->t_s % 10 != 0 || p->d.median < p->d.min ||
			  p->d.p95 > p->d.max || p->d.p75 < p->d.median;
	}
	return 0;
}

/* Two agents, 3000 s: more points than a transaction merges. */
static void test_figures_stay(void **state)
{
	static const char *const leases[] = {"lease a", "lease b"};
	struct figures before[2], after;
	struct fixture *f = *state;
	struct db_value bytes[2];
	int wrong = 0;

	fill(f);
	add_run(f, 1);
	add_series(f, 1, "rtp_mos");
	add_series(f, 2, "rtp_lost");
	for (int64_t t = 0; t < 3000; t++)
		for (size_t i = 0; i < 2; i++)
			add_point(f, 1, T0 + t, leases[i], true);
	add_point(f, 2, T0 + 7, leases[0], true);
	filled(f);
	for (size_t i = 0; i < 2; i++)
		read_figures(f, 1, leases[i], &before[i]);
	bytes[0] = DB_I(f->run_id);
	bytes[1] = DB_I(integer(f, BYTES));
	execute(f, "UPDATE run_size SET metrics = $2 WHERE run_id = $1", bytes,
		2);
	begin(f);
	assert_int_equal(integer(f, "SELECT interval_s FROM run WHERE id = $1"),
			 10);
	assert_int_equal(
		integer(f, "SELECT metrics_thinned_at FROM run WHERE id = $1"),
		4711);
	assert_true(carry_out(f) > 3000 * 2 / THIN_CHUNK_POINTS);
	for (size_t i = 0; i < 2; i++) {
		read_figures(f, 1, leases[i], &after);
		assert_int_equal(after.points, 300);
		assert_same(&before[i], &after);
	}
	assert_int_equal(
		points_read(store_reader(f->store),
			    &(struct points_query){.run_id = f->run_id},
			    wrong_points, &wrong),
		0);
	assert_int_equal(wrong, 0);
	/* a point alone in its interval stays as it is, at its begin */
	read_figures(f, 2, leases[0], &after);
	assert_int_equal(after.n, SAMPLES);
	assert_int_equal(
		integer(f, "SELECT metrics FROM run_size WHERE run_id = $1"),
		integer(f, BYTES));
	/* nothing is done twice */
	begin(f);
	assert_int_equal(carry_out(f), 0);
}

/* Killed between transactions, and with another controller that does the same. */
static void test_interrupted(void **state)
{
	struct figures before, after;
	struct fixture *f = *state;
	struct thinning t, stale, next;
	struct store *other;

	fill(f);
	add_run(f, 1);
	add_series(f, 1, "rtp_mos");
	for (int64_t i = 0; i < 2500; i++)
		add_point(f, 1, T0 + 3 + i, "lease", true);
	filled(f);
	read_figures(f, 1, "lease", &before);
	begin(f);
	assert_int_equal(store_thinning_next(f->store, &stale), 1);
	assert_int_equal(store_new(&other, f->database), 0);
	assert_int_equal(store_thinning_next(other, &t), 1);
	assert_int_equal(store_thinning_step(other, &t), 1);
	store_free(other);
	read_figures(f, 1, "lease", &after);
	assert_true(after.points < before.points && after.points > 251);
	assert_same(&before, &after);
	/* one that began before the other one wrote does not write */
	assert_int_equal(store_thinning_next(f->store, &next), 1);
	assert_true(next.seq > t.seq);
	assert_int_equal(store_thinning_step(f->store, &stale), 1);
	assert_int_equal(store_thinning_next(f->store, &t), 1);
	assert_int_equal(t.series_id, next.series_id);
	assert_int_equal(t.seq, next.seq);
	read_figures(f, 1, "lease", &after);
	assert_same(&before, &after);
	carry_out(f);
	read_figures(f, 1, "lease", &after);
	assert_int_equal(after.points, 251);
	assert_same(&before, &after);
}

/* 4 s become 12 s: no point lies in two intervals. */
static void test_least_multiple(void **state)
{
	struct figures before, after;
	struct fixture *f = *state;

	fill(f);
	add_run(f, 4);
	add_series(f, 1, "rtp_mos");
	for (int64_t i = 0; i < 30; i++)
		add_point(f, 1, 4 * (T0 / 12 * 3 + i), "lease", true);
	filled(f);
	read_figures(f, 1, "lease", &before);
	begin(f);
	assert_int_equal(integer(f, "SELECT interval_s FROM run WHERE id = $1"),
			 12);
	carry_out(f);
	read_figures(f, 1, "lease", &after);
	assert_int_equal(after.points, 10);
	assert_same(&before, &after);
}

/* Without its distribution a point cannot be merged: its interval stays. */
static void test_without_sketches(void **state)
{
	struct fixture *f = *state;
	struct figures before, after;

	fill(f);
	add_run(f, 1);
	add_series(f, 1, "rtp_mos");
	for (int64_t i = 0; i < 20; i++)
		add_point(f, 1, T0 + i, "lease", i != 13);
	filled(f);
	read_figures(f, 1, "lease", &before);
	begin(f);
	carry_out(f);
	read_figures(f, 1, "lease", &after);
	assert_int_equal(after.points, 1 + 10);
	assert_same(&before, &after);
}

/* A series with a damaged block stays as it is; the others do not wait for it. */
static void test_a_damaged_block(void **state)
{
	struct fixture *f = *state;
	const struct db_value bytes = db_blob("\1\1\1\7\0\1", 6);
	struct figures before, after;

	fill(f);
	add_run(f, 1);
	for (int64_t series = 1; series <= 2; series++) {
		add_series(f, series, series == 1 ? "rtp_mos" : "sip_pdd");
		for (int64_t i = 0; i < 20; i++)
			add_point(f, series, T0 + i, "lease", true);
	}
	filled(f);
	read_figures(f, 2, "lease", &before);
	begin(f);
	execute(f, "UPDATE point_block SET block = $1 WHERE series_id = 1",
		&bytes, 1);
	carry_out(f);
	assert_int_equal(integer(f, "SELECT count(*) FROM thinning WHERE "
				    "run_id = $1"),
			 0);
	execute(f, "DELETE FROM point_block WHERE series_id = 1", NULL, 0);
	read_figures(f, 2, "lease", &after);
	assert_int_equal(after.points, 2);
	assert_same(&before, &after);
}

static void test_left_alone(void **state)
{
	struct fixture *f = *state;
	const struct retention_mark metrics = {f->run_id = FIRST_RUN,
					       1u << RETENTION_METRICS};

	fill(f);
	add_run(f, 1);
	add_series(f, 1, "rtp_mos");
	for (int64_t i = 0; i < 20; i++)
		add_point(f, 1, T0 + i, "lease", true);
	filled(f);
	assert_int_equal(store_run_keep(f->store, f->run_id, true), 0);
	begin(f);
	assert_int_equal(carry_out(f), 0);
	assert_int_equal(integer(f, "SELECT interval_s FROM run WHERE id = $1"),
			 1);
	assert_int_equal(store_run_keep(f->store, f->run_id, false), 0);
	begin(f);
	assert_int_equal(integer(f, "SELECT count(*) FROM thinning WHERE "
				    "run_id = $1"),
			 1);
	/* metrics that are deleted are not thinned any more */
	assert_int_equal(store_retention_mark(f->store, &metrics, 1, 1, ""), 0);
	assert_int_equal(carry_out(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_figures_stay, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_least_multiple, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_without_sketches, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_block, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_left_alone, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
