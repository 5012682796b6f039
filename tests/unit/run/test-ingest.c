/*
 * Uploads in the store: in SQLite, or in PostgreSQL if OFFHOOK_TEST_DATABASE has
 * the URI of a database, which is emptied.
 */
#include "lease_bench.h"

#include "base/buf.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* More rows than go into one statement (postgresql_arrays.c). */
#define MANY 5000

struct fixture {
	struct bench b;
	json_t *jobs;
	struct ingest upload;
	struct ingest_result result;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	bench_open_either(&f->b, 4);
	bench_run_alone(&f->b);
	f->jobs = bench_start(&f->b, T0);
	f->upload = (struct ingest){.agent_id = f->b.agents[0],
				    .lease_id = bench_lease(f->jobs, 0),
				    .kind = INGEST_STATS};
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	json_decref(f->jobs);
	bench_close(&f->b);
	free(f);
	return 0;
}

/* Upload the text of an array. */
static int upload(struct fixture *f, int64_t seq, const char *text)
{
	const struct lease_times times = bench_times(T0 + 1000);
	json_t *items = json_loads(text, 0, NULL);
	char reason[WIRE_REASON_BYTES];
	int err;

	assert_non_null(items);
	assert_int_equal(ingest_check(f->upload.kind, items, reason), 0);
	f->upload.seq = seq;
	f->upload.items = items;
	f->upload.text = (struct json_text){text, strlen(text)};
	err = store_ingest(f->b.store, &f->upload, &times, &f->result);
	json_decref(items);
	return err;
}

#define POINT(role, measure, t, n, more)                                      \
	"{\"role\":\"" role "\",\"dir\":\"in\",\"measure\":\"" measure        \
	"\",\"t\":" #t ",\"n\":" #n ",\"min\":0.1,\"max\":3,\"avg\":2.5,"     \
	"\"median\":0.30000000000000004,\"p75\":1e-300,\"p90\":-1,\"p95\":9," \
	"\"stddev\":0" more "}"

struct found {
	size_t count;
	struct wire_point first;
	char sketch[64];
	int64_t t_sum;
};

static int take_point(const struct wire_point *p, void *arg)
{
	struct found *found = arg;

	if (found->count++ == 0) {
		found->first = *p;
		if (p->sketch) {
			char *text = json_dumps(p->sketch, JSON_COMPACT);

			snprintf(found->sketch, sizeof(found->sketch), "%s",
				 text);
			free(text);
		}
	}
	found->t_sum += p->t_s;
	return 0;
}

static struct found points_of(struct fixture *f)
{
	struct found found = {.count = 0};

	assert_int_equal(
		store_run_points(f->b.store, f->b.run_id, take_point, &found),
		0);
	return found;
}

static void test_a_point_comes_back(void **state)
{
	struct fixture *f = *state;
	struct found found;

	assert_int_equal(
		upload(f, 1,
		       "[" POINT("callee", "rtp_mos", 1700000000, 7,
				 ",\"sketch\": {\"pos\" : [[1,2]]}") "]"),
		0);
	found = points_of(f);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.first.measure, MEASURE_rtp_mos);
	assert_false(found.first.outgoing);
	assert_int_equal(found.first.t_s, 1700000000);
	assert_int_equal(found.first.d.n, 7);
	assert_true(found.first.d.min == 0.1);
	assert_true(found.first.d.max == 3);
	assert_true(found.first.d.avg == 2.5);
	assert_true(found.first.d.median == 0.30000000000000004);
	assert_true(found.first.d.p75 == 1e-300);
	assert_true(found.first.d.p90 == -1);
	assert_true(found.first.d.p95 == 9);
	assert_true(found.first.d.stddev == 0);
	assert_string_equal(found.sketch, "{\"pos\":[[1,2]]}");
}

static int sketch_of(const struct points_series *series, void *arg)
{
	static const char sketch[] = "{\"pos\" : [[1,2.50]]}";
	const struct json_text found = series->points[0].p.sketch;

	(void)arg;
	assert_int_equal(series->count, 1);
	assert_int_equal(found.len, strlen(sketch));
	assert_memory_equal(found.at, sketch, found.len);
	return 1;
}

/* Blanks and digits too: nothing is printed anew. */
static void test_a_sketch_is_stored_as_it_came(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		upload(f, 1,
		       "[" POINT("callee", "rtp_mos", 10, 7,
				 ",\"sketch\": {\"pos\" : [[1,2.50]]}") "]"),
		0);
	assert_int_equal(
		points_read(store_reader(f->b.store),
			    &(struct points_query){.run_id = f->b.run_id},
			    sketch_of, NULL),
		1);
}

/* The lease's first point of a series and time stays, within an upload and in a
 * later one. */
static void test_a_point_is_stored_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		upload(f, 1,
		       "[" POINT("callee", "rtp_mos", 10, 1, "") "," POINT(
			       "callee", "rtp_mos", 10, 2, "") "]"),
		0);
	assert_int_equal(
		upload(f, 2,
		       "[" POINT("callee", "rtp_mos", 10, 3, "") "," POINT(
			       "callee", "rtp_mos", 20, 4, "") "]"),
		0);
	assert_int_equal(points_of(f).count, 2);
	assert_int_equal(points_of(f).first.d.n, 1);
	assert_int_equal(points_of(f).t_sum, 30);
}

static void test_a_repeated_upload_is_not_doubled(void **state)
{
	struct fixture *f = *state;

	f->upload.kind = INGEST_EVENTS;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(upload(f, 1, "[{\"t\":1,\"kind\":\"state\"}]"),
				 0);
		assert_int_equal(f->result.duplicate, i == 1);
		assert_int_equal(f->result.next_seq, 2);
	}
	assert_int_equal(db_query(store_reader(f->b.store),
				  "SELECT id FROM event", NULL, 0, NULL, NULL),
			 1);
}

/* A point of another role: nothing is stored, and the number is not used up. */
static void test_an_upload_is_stored_whole_or_not(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		upload(f, 1,
		       "[" POINT("callee", "rtp_mos", 10, 1, "") "," POINT(
			       "caller", "rtp_mos", 10, 1, "") "]"),
		-EINVAL);
	assert_int_equal(points_of(f).count, 0);
	assert_int_equal(
		upload(f, 1, "[" POINT("callee", "sip_pdd", 20, 1, "") "]"), 0);
	assert_false(f->result.duplicate);
	assert_int_equal(f->result.next_seq, 2);
	assert_int_equal(points_of(f).count, 1);
}

static void test_an_empty_upload(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(upload(f, 1, "[]"), 0);
	assert_int_equal(f->result.next_seq, 2);
	f->upload.kind = INGEST_SIP;
	assert_int_equal(upload(f, 2, "[]"), 0);
	assert_int_equal(f->result.next_seq, 3);
}

static char *repeat(const char *format, size_t count)
{
	struct buf b;

	buf_init(&b, 16 * 1024 * 1024);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(buf_texts(&b, i ? "," : "[", NULL), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		assert_int_equal(buf_print(&b, format, (int)i), 0);
#pragma GCC diagnostic pop
	}
	assert_int_equal(buf_texts(&b, "]", NULL), 0);
	return b.data;
}

static int in_order(const char *role, json_t *object, void *arg)
{
	int *next = arg;

	assert_string_equal(role, "callee");
	assert_int_equal(json_integer_value(json_object_get(object, "t")),
			 *next);
	++*next;
	return 0;
}

/* Of several statements; rows come back in the order in which they came. */
static void test_many_rows(void **state)
{
	struct fixture *f = *state;
	char *text;
	int next = 0;

	text = repeat("{\"role\":\"callee\",\"dir\":\"out\",\"measure\":"
		      "\"calls_active\",\"t\":%d,\"n\":1,\"min\":0,\"max\":0,"
		      "\"avg\":0,\"median\":0,\"p75\":0,\"p90\":0,\"p95\":0,"
		      "\"stddev\":0}",
		      MANY);
	assert_int_equal(upload(f, 1, text), 0);
	free(text);
	assert_int_equal(points_of(f).count, MANY);
	assert_int_equal(points_of(f).t_sum, MANY * (MANY - 1) / 2);
	f->upload.kind = INGEST_EVENTS;
	text = repeat("{\"t\":%d,\"kind\":\"a\\tb\\\\\"}", MANY);
	assert_int_equal(upload(f, 2, text), 0);
	free(text);
	assert_int_equal(
		store_run_events(f->b.store, f->b.run_id, in_order, &next), 0);
	assert_int_equal(next, MANY);
	f->upload.kind = INGEST_SIP;
	text = repeat("{\"t\":%d,\"dir\":\"sent\",\"data\":\"\\u00e9\"}", MANY);
	assert_int_equal(upload(f, 3, text), 0);
	free(text);
	next = 0;
	assert_int_equal(db_query(store_reader(f->b.store),
				  "SELECT id FROM sip_message WHERE "
				  "message_json LIKE '%u00e9%'",
				  NULL, 0, NULL, NULL),
			 MANY);
}

static int64_t blocks(struct fixture *f, bool of_uploads)
{
	int64_t found = -1;

	assert_int_equal(
		db_query(store_reader(f->b.store),
			 of_uploads ? "SELECT count(*) FROM point_block WHERE "
				      "series_id = 0"
				    : "SELECT count(*) FROM point_block WHERE "
				      "series_id <> 0",
			 NULL, 0, db_integer_row, &found),
		1);
	return found;
}

struct expected {
	const char *measures[2];
	size_t series, count;
};

/* Point i of a measure has t 10 * i, n i + 1 and the average i / 3. */
static int take_series(const struct points_series *series, void *arg)
{
	struct expected *e = arg;

	assert_string_equal(series->measure, e->measures[e->series++]);
	assert_int_equal(series->count, e->count);
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *p = &series->points[i].p;

		assert_int_equal(p->t_s, 10 * i);
		assert_int_equal(p->d.n, i + 1);
		assert_true(p->d.avg == (double)i / 3);
		assert_int_equal(p->sketch.len, 13 + (i > 9) + (i > 99));
	}
	return 0;
}

static void assert_points(struct fixture *f, size_t count)
{
	struct expected e = {{"rtp_mos", "sip_pdd"}, 0, count};

	assert_int_equal(
		points_read(store_reader(f->b.store),
			    &(struct points_query){.run_id = f->b.run_id},
			    take_series, &e),
		0);
	assert_int_equal(e.series, 2);
	e = (struct expected){{"sip_pdd"}, 0, count};
	assert_int_equal(
		points_read(store_reader(f->b.store),
			    &(struct points_query){
				    .run_id = f->b.run_id,
				    .measures = (const char *const[]){"sip_pdd",
								      NULL}},
			    take_series, &e),
		0);
	assert_int_equal(e.series, 1);
}

/* An upload of one interval, as an agent makes it. @param seq  i + 1 */
static void upload_interval(struct fixture *f, int i)
{
	static const char format[] =
		"{\"role\":\"callee\",\"dir\":\"in\",\"measure\":\"%s\","
		"\"t\":%d,\"n\":%d,\"min\":0,\"max\":1,\"avg\":%.17g,"
		"\"median\":0,\"p75\":0,\"p90\":0,\"p95\":0,\"stddev\":0,"
		"\"sketch\":{\"p\":[[%d,1]]}}";
	struct buf b;

	buf_init(&b, 4096);
	buf_print(&b, "[");
	buf_print(&b, format, "rtp_mos", 10 * i, i + 1, (double)i / 3, i);
	buf_print(&b, ",");
	buf_print(&b, format, "sip_pdd", 10 * i, i + 1, (double)i / 3, i);
	buf_print(&b, "]");
	assert_int_equal(upload(f, i + 1, b.data), 0);
	assert_false(f->result.duplicate);
	/* an upload that is repeated is acknowledged again, and not stored again */
	assert_int_equal(upload(f, i + 1, b.data), 0);
	assert_true(f->result.duplicate);
	buf_release(&b);
}

/* Uploads are folded into blocks of series; one that comes late is no exception. */
static void test_uploads_are_folded(void **state)
{
	struct fixture *f = *state;
	struct db *db;

	for (int i = 0; i < POINTS_FOLD - 1; i++)
		upload_interval(f, i);
	assert_int_equal(blocks(f, true), POINTS_FOLD - 1);
	assert_int_equal(blocks(f, false), 0);
	assert_points(f, POINTS_FOLD - 1);
	/* later ones come first */
	for (int i = 3 * POINTS_FOLD - 1; i >= POINTS_FOLD - 1; i--)
		upload_interval(f, i);
	assert_int_equal(blocks(f, true), 0);
	assert_int_equal(blocks(f, false), 2 * 3);
	assert_points(f, 3 * POINTS_FOLD);
	upload_interval(f, 3 * POINTS_FOLD);
	assert_int_equal(blocks(f, true), 1);
	assert_int_equal(store_write_begin(f->b.store, &db), 0);
	assert_int_equal(
		store_write_end(f->b.store, points_fold(db, f->b.run_id)), 0);
	assert_int_equal(blocks(f, true), 0);
	assert_int_equal(blocks(f, false), 2 * 4);
	assert_points(f, 3 * POINTS_FOLD + 1);
}

/* A few uploads with much text: each sketch is longer than a point of any agent. */
static void test_large_uploads_are_folded(void **state)
{
	enum {
		SKETCH_BYTES = POINTS_FOLD_BYTES / 2
	};
	struct fixture *f = *state;
	struct found found;
	char *text = malloc(SKETCH_BYTES + 400);

	for (int i = 0; i < 3; i++) {
		int at = snprintf(text, 300,
				  "["
				  "{\"role\":\"callee\",\"dir\":\"in\","
				  "\"measure\":\"rtp_mos\",\"t\":%d,\"n\":1,"
				  "\"min\":0,\"max\":1,\"avg\":1,\"median\":0,"
				  "\"p75\":0,\"p90\":0,\"p95\":0,\"stddev\":0,"
				  "\"sketch\":{\"p\":\"",
				  i);

		memset(text + at, 'x', SKETCH_BYTES);
		memcpy(text + at + SKETCH_BYTES, "\"}}]", 5);
		assert_int_equal(upload(f, i + 1, text), 0);
		assert_int_equal(blocks(f, true), i == 1 ? 0 : 1);
	}
	free(text);
	found = points_of(f);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.t_sum, 3);
}

static void test_a_damaged_block_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct found points = {.count = 0};
	const struct db_value bytes = db_blob("\1\1\1\7\0\1", 6);
	struct db *db;
	int err;

	upload_interval(f, 0);
	upload_interval(f, 1);
	assert_int_equal(store_write_begin(f->b.store, &db), 0);
	err = db_query(db, "UPDATE point_block SET block = $1 WHERE seq = 2",
		       &bytes, 1, NULL, NULL);
	assert_int_equal(store_write_end(f->b.store, err), 1);
	assert_int_equal(
		store_run_points(f->b.store, f->b.run_id, take_point, &points),
		-EBADMSG);
	/* later uploads are taken, and the run can end */
	for (int i = 2; i <= POINTS_FOLD; i++)
		upload_interval(f, i);
	assert_int_equal(blocks(f, true), POINTS_FOLD + 1);
	assert_int_equal(blocks(f, false), 0);
	assert_int_equal(store_write_begin(f->b.store, &db), 0);
	err = db_query(db, "UPDATE run SET stopped_at = created_at", NULL, 0,
		       NULL, NULL);
	if (err == 1)
		err = points_fold(db, f->b.run_id);
	if (err == 0)
		err = verdict_insert(db, f->b.run_id);
	assert_int_equal(store_write_end(f->b.store, err), 0);
	assert_int_equal(db_query(store_reader(f->b.store),
				  "SELECT run_id FROM run_verdict WHERE mos IS "
				  "NULL AND pdd_ms IS NULL",
				  NULL, 0, NULL, NULL),
			 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_a_point_comes_back),
		CASE(test_a_sketch_is_stored_as_it_came),
		CASE(test_a_point_is_stored_once),
		CASE(test_a_repeated_upload_is_not_doubled),
		CASE(test_an_upload_is_stored_whole_or_not),
		CASE(test_an_empty_upload),
		CASE(test_many_rows),
		CASE(test_uploads_are_folded),
		CASE(test_large_uploads_are_folded),
		CASE(test_a_damaged_block_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
