/*
 * Uploads in the store: in SQLite, or in PostgreSQL if OFFHOOK_TEST_DATABASE has
 * the URI of a database, which is emptied.
 */
#include "lease_bench.h"

#include "base/buf.h"
#include "control/server/store/db_postgresql.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"

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
	const char *uri = getenv("OFFHOOK_TEST_DATABASE");
	struct fixture *f = calloc(1, sizeof(*f));
	struct db *db;

	*state = f;
	if (uri) {
		assert_int_equal(db_postgresql_open(&db, uri, false), 0);
		assert_int_equal(db_script(db, "DROP SCHEMA public CASCADE;"
					       "CREATE SCHEMA public;"),
				 0);
		db_close(db);
	}
	bench_open_at(&f->b, uri, 4);
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

static int sketch_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)arg;
	assert_int_equal(columns, 1);
	assert_int_equal(row[0].type, DB_TEXT);
	assert_string_equal(row[0].bytes, "{\"pos\" : [[1,2.50]]}");
	return 0;
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
	assert_int_equal(db_query(store_reader(f->b.store),
				  "SELECT sketch_json FROM point", NULL, 0,
				  sketch_row, NULL),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
