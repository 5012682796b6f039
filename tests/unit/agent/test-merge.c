/*
 * What several engines of one job report, compared with what one engine would have
 * reported of the same samples.
 */
#include "agent/merge/engine_merge.h"
#include "agent/merge/interval_merge.h"
#include "base/clock.h"
#include "control/wire/point.h"
#include "control/wire/share.h"
#include "control/wire/sketch.h"
#include "media/analysis/distribution.h"
#include "media/analysis/sketch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0      INT64_C(1700000000) /* a multiple of 10 */
#define SAMPLES 997

static uint64_t seed = 1;

static double draw(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* A point as an engine sends it. @param samples  sorted in place */
static json_t *point_of(enum measure measure, int64_t t_s, double *samples,
			size_t n)
{
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	struct wire_point point = {
		.role = "caller", .measure = measure, .t_s = t_s};
	json_t *object;

	assert_non_null(sketch);
	for (size_t i = 0; i < n; i++)
		sketch_add(sketch, samples[i]);
	distribution_of_samples(&point.d, samples, n);
	point.sketch = wire_sketch_encode(sketch);
	object = wire_point_encode(&point);
	assert_non_null(object);
	json_decref(point.sketch);
	free(sketch);
	return object;
}

static json_t *closed(int64_t t_s)
{
	return json_pack("{s:I}", "closed", (json_int_t)t_s);
}

static json_t *calls(int64_t second, double up, double per_s)
{
	return json_pack("{s:I, s:n, s:[f, f]}", "second", (json_int_t)second,
			 "in", "out", up, per_s);
}

static void add(struct interval_merge *m, uint32_t engine, json_t *item)
{
	json_t *items = json_pack("[o]", item);

	assert_non_null(items);
	interval_merge_add(m, engine, items);
	json_decref(items);
}

static void gather(json_t *series, void *arg)
{
	assert_int_equal(json_array_extend(arg, series), 0);
}

static struct interval_merge *merge_new(uint32_t engines, uint32_t interval_s,
					json_t *points)
{
	const struct interval_merge_params params = {
		.engines = engines,
		.interval_s = interval_s,
		.role = "caller",
		/* monotonic second 100 is T0 */
		.wall_offset_ns = (T0 - 100) * NS_PER_S + NS_PER_S / 3,
		.points_h = gather,
		.arg = points,
	};
	struct interval_merge *m;

	assert_int_equal(interval_merge_new(&m, &params), 0);
	return m;
}

/* @return how many points of a series there are; the last one decoded */
static int find(json_t *points, enum measure measure, int64_t t_s,
		struct wire_point *ret)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_point p;
	json_t *object;
	int count = 0;
	size_t i;

	json_array_foreach(points, i, object)
	{
		assert_int_equal(wire_point_decode(&p, object, reason), 0);
		if (p.measure == measure && p.t_s == t_s) {
			*ret = p;
			count++;
		}
	}
	return count;
}

static void near(double value, double expected, double relative)
{
	if (fabs(value - expected) > relative * fabs(expected))
		fail_msg("%.17g is not %.17g", value, expected);
}

/* ---- points ---- */

/* Every n-th sample is of engine k: the union has the figures of all samples. */
static void union_equals_whole(uint32_t engines)
{
	double whole[SAMPLES], parts[WIRE_ENGINES_MAX][SAMPLES];
	size_t counts[WIRE_ENGINES_MAX] = {0};
	json_t *points = json_array();
	struct interval_merge *m = merge_new(engines, 10, points);
	struct distribution d;
	struct wire_point p;

	for (size_t i = 0; i < SAMPLES; i++) {
		uint32_t e = (uint32_t)(i % engines);

		whole[i] = 20 * exp(3 * draw()) - 30;
		parts[e][counts[e]++] = whole[i];
	}
	distribution_of_samples(&d, whole, SAMPLES);
	for (uint32_t e = 0; e < engines; e++) {
		assert_int_equal(json_array_size(points), 0);
		add(m, e,
		    point_of(MEASURE_rtp_jitter, T0, parts[e], counts[e]));
		add(m, e, closed(T0 + 10));
	}
	assert_int_equal(find(points, MEASURE_rtp_jitter, T0, &p), 1);
	assert_string_equal(p.role, "caller");
	assert_int_equal(p.d.n, SAMPLES);
	near(p.d.min, d.min, 0);
	near(p.d.max, d.max, 0);
	near(p.d.avg, d.avg, 1e-12);
	near(p.d.stddev, d.stddev, 1e-12);
	near(p.d.median, d.median, 0.0101);
	near(p.d.p75, d.p75, 0.0101);
	near(p.d.p90, d.p90, 0.0101);
	near(p.d.p95, d.p95, 0.0101);
	assert_int_equal(interval_merge_dropped(m), 0);
	interval_merge_free(m);
	json_decref(points);
}

static void test_points_are_of_all_samples(void **state)
{
	(void)state;
	union_equals_whole(2);
	union_equals_whole(3);
	union_equals_whole(4);
	union_equals_whole(8);
}

static json_t *single(enum measure measure, int64_t t_s, double value)
{
	return point_of(measure, t_s, &value, 1);
}

/* One engine has no sample of a series: the point of the other is passed on. */
static void test_point_of_one_engine_is_unchanged(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);
	json_t *point = single(MEASURE_sip_pdd, T0, 3.25);

	(void)state;
	add(m, 1, json_incref(point));
	add(m, 1, closed(T0 + 10));
	assert_int_equal(json_array_size(points), 0);
	add(m, 0, closed(T0 + 10));
	assert_int_equal(json_array_size(points), 1);
	assert_true(json_equal(json_array_get(points, 0), point));
	json_decref(point);
	interval_merge_free(m);
	json_decref(points);
}

/* An interval is sent when all have closed it, the earlier one first, and once. */
static void test_interval_waits_for_all_engines(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);
	struct wire_point p;

	(void)state;
	add(m, 0, single(MEASURE_sip_pdd, T0 + 10, 1));
	add(m, 0, single(MEASURE_sip_pdd, T0, 1));
	add(m, 0, closed(T0 + 20));
	add(m, 1, single(MEASURE_sip_pdd, T0, 2));
	assert_int_equal(json_array_size(points), 0);
	add(m, 1, closed(T0 + 10));
	assert_int_equal(json_array_size(points), 1);
	assert_int_equal(find(points, MEASURE_sip_pdd, T0, &p), 1);
	assert_int_equal(p.d.n, 2);
	/* too late for the first one, in time for the second */
	add(m, 1, single(MEASURE_sip_pdd, T0, 2));
	assert_int_equal(interval_merge_dropped(m), 1);
	add(m, 1, single(MEASURE_sip_pdd, T0 + 10, 2));
	add(m, 1, single(MEASURE_sip_pdd, T0 + 10, 2)); /* twice */
	assert_int_equal(interval_merge_dropped(m), 2);
	add(m, 1, closed(T0 + 20));
	assert_int_equal(json_array_size(points), 2);
	assert_int_equal(find(points, MEASURE_sip_pdd, T0 + 10, &p), 1);
	assert_int_equal(p.d.n, 2);
	interval_merge_free(m);
	json_decref(points);
}

static void test_engine_that_ended_is_not_waited_for(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(3, 10, points);

	(void)state;
	add(m, 0, single(MEASURE_sip_pdd, T0, 1));
	add(m, 2, single(MEASURE_sip_pdd, T0 + 10, 1));
	interval_merge_end(m, 0);
	add(m, 1, closed(T0 + 10));
	assert_int_equal(json_array_size(points), 0);
	interval_merge_end(m, 2);
	assert_int_equal(json_array_size(points), 1);
	interval_merge_end(m, 1);
	assert_int_equal(json_array_size(points), 2);
	assert_int_equal(interval_merge_dropped(m), 0);
	interval_merge_free(m);
	json_decref(points);
}

/* The oldest interval is sent without the engine that lags behind. */
static void test_open_intervals_have_a_ceiling(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);

	(void)state;
	for (int i = 0; i <= (int)INTERVAL_MERGE_OPEN_MAX; i++)
		add(m, 0, single(MEASURE_sip_pdd, T0 + 10 * i, 1));
	assert_int_equal(json_array_size(points), 1);
	add(m, 1, single(MEASURE_sip_pdd, T0, 1));
	assert_int_equal(interval_merge_dropped(m), 1);
	add(m, 1, single(MEASURE_sip_pdd, T0 + 10, 1));
	interval_merge_end(m, 0);
	interval_merge_end(m, 1);
	assert_int_equal(json_array_size(points), INTERVAL_MERGE_OPEN_MAX + 1);
	assert_int_equal(interval_merge_dropped(m), 1);
	interval_merge_free(m);
	json_decref(points);
}

static void test_malformed_items_are_counted(void **state)
{
	static const char *const items[] = {
		"3",
		"{}",
		"{\"second\": 0}",
		"{\"second\": -1, \"out\": [1, 2]}",
		"{\"role\": \"caller\", \"measure\": \"sip_pdd\"}",
		"{\"role\": \"caller\", \"measure\": \"calls_active\", "
		"\"dir\": \"in\", \"t\": 1700000000, \"n\": 1, \"min\": 1, "
		"\"max\": 1, \"avg\": 1, \"median\": 1, \"p75\": 1, "
		"\"p90\": 1, \"p95\": 1, \"stddev\": 0}",
	};
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);

	(void)state;
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		add(m, 0, json_loads(items[i], JSON_DECODE_ANY, NULL));
		assert_int_equal(interval_merge_dropped(m), i + 1);
	}
	interval_merge_end(m, 0);
	interval_merge_end(m, 1);
	assert_int_equal(json_array_size(points), 0);
	interval_merge_free(m);
	json_decref(points);
}

/* ---- calls ---- */

/* The samples are the sums of the engines' calls of each second. */
static void test_calls_of_a_second_are_added_up(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);
	struct wire_point p;

	(void)state;
	for (int s = 0; s < 10; s++) {
		add(m, 0, calls(100 + s, 3, 1));
		/* engine 1 begins later and is through earlier */
		add(m, 1,
		    s > 1 && s < 8 ? calls(100 + s, 2 + s % 2, 1.5)
				   : json_pack("{s:i, s:n, s:n}", "second",
					       100 + s, "in", "out"));
	}
	add(m, 0, calls(110, 1, 0));
	add(m, 0, closed(T0 + 10));
	add(m, 1, closed(T0 + 10));
	assert_int_equal(json_array_size(points), 2);
	assert_int_equal(find(points, MEASURE_calls_active, T0, &p), 1);
	assert_true(p.outgoing);
	assert_int_equal(p.d.n, 10);
	near(p.d.min, 3, 0);
	near(p.d.max, 6, 0);
	near(p.d.avg, (10 * 3 + 3 * 2 + 3 * 3) / 10.0, 1e-12);
	assert_int_equal(find(points, MEASURE_calls_per_sec, T0, &p), 1);
	near(p.d.avg, (10 * 1 + 6 * 1.5) / 10.0, 1e-12);
	interval_merge_end(m, 0);
	interval_merge_end(m, 1);
	assert_int_equal(find(points, MEASURE_calls_active, T0 + 10, &p), 1);
	assert_int_equal(p.d.n, 1);
	assert_int_equal(interval_merge_dropped(m), 0);
	interval_merge_free(m);
	json_decref(points);
}

/* A loop that stood still for two seconds reports once: its calls were up meanwhile. */
static void test_calls_of_an_engine_that_stood_still(void **state)
{
	json_t *points = json_array();
	struct interval_merge *m = merge_new(2, 10, points);
	struct wire_point p;

	(void)state;
	for (int s = 0; s < 6; s++)
		add(m, 0, calls(100 + s, 10, 1));
	add(m, 1, calls(100, 5, 1));
	add(m, 1, calls(101, 5, 1));
	add(m, 1, calls(104, 5, 1));
	add(m, 1, calls(105, 5, 1));
	interval_merge_end(m, 0);
	interval_merge_end(m, 1);
	assert_int_equal(find(points, MEASURE_calls_active, T0, &p), 1);
	assert_int_equal(p.d.n, 6);
	near(p.d.min, 15, 0);
	near(p.d.max, 15, 0);
	interval_merge_free(m);
	json_decref(points);
}

/* ---- messages ---- */

struct seen {
	json_t *messages;
	const char *text; /* of the last one; NULL: made by the merge */
};

static void see(json_t *message, const char *text, size_t len, void *arg)
{
	struct seen *seen = arg;

	assert_int_equal(text ? strlen(text) : 0, len);
	seen->text = text;
	assert_int_equal(json_array_append(seen->messages, message), 0);
}

static struct engine_merge *messages_new(uint32_t engines, struct seen *seen)
{
	const struct engine_merge_params params = {
		.engines = engines,
		.interval_s = 10,
		.role = "caller",
		.message_h = see,
		.arg = seen,
	};
	struct engine_merge *m;

	*seen = (struct seen){.messages = json_array()};
	assert_int_equal(engine_merge_new(&m, &params), 0);
	return m;
}

static void tell(struct engine_merge *m, uint32_t engine, const char *text)
{
	json_t *message = json_loads(text, 0, NULL);

	assert_non_null(message);
	engine_merge_message(m, engine, message, text, strlen(text));
	json_decref(message);
}

static size_t count(const struct seen *seen)
{
	return json_array_size(seen->messages);
}

static json_t *last(const struct seen *seen, const char *member)
{
	return json_object_get(json_array_get(seen->messages, count(seen) - 1),
			       member);
}

static void over(struct engine_merge *m, struct seen *seen)
{
	engine_merge_free(m);
	json_decref(seen->messages);
}

static void test_ready_when_all_are(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(3, &seen);

	(void)state;
	for (int step = 0; step < 2; step++) {
		char text[64];

		snprintf(text, sizeof(text), "{\"type\":\"ready\",\"step\":%d}",
			 step);
		tell(m, 2, text);
		tell(m, 0, text);
		assert_int_equal(count(&seen), step);
		tell(m, 1, text);
		assert_int_equal(count(&seen), step + 1);
		assert_int_equal(json_integer_value(last(&seen, "step")), step);
	}
	over(m, &seen);
}

/* A step has begun when the last engine has begun it. */
static void test_job_is_prepared_with_the_last_engine(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(3, &seen);

	(void)state;
	tell(m, 0, "{\"type\":\"prepared\"}");
	tell(m, 2, "{\"type\":\"prepared\"}");
	assert_int_equal(count(&seen), 0);
	tell(m, 1, "{\"type\":\"prepared\"}");
	assert_int_equal(count(&seen), 1);
	over(m, &seen);
}

static void test_step_began_with_the_last_engine(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(3, &seen);

	(void)state;
	tell(m, 0, "{\"type\":\"began\",\"step\":0,\"began_ns\":500}");
	tell(m, 2, "{\"type\":\"began\",\"step\":0,\"began_ns\":700}");
	tell(m, 1, "{\"type\":\"began\",\"step\":0,\"began_ns\":600}");
	assert_int_equal(json_integer_value(last(&seen, "began_ns")), 700);
	assert_int_equal(count(&seen), 1);
	/* each engine begins the next one by itself */
	tell(m, 0, "{\"type\":\"began\",\"step\":2,\"began_ns\":900}");
	tell(m, 1, "{\"type\":\"began\",\"step\":2,\"began_ns\":901}");
	assert_int_equal(count(&seen), 1);
	over(m, &seen);
}

static void test_progress_is_the_mean(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(2, &seen);

	(void)state;
	tell(m, 0, "{\"type\":\"progress\",\"progress\":0.5}");
	near(json_number_value(last(&seen, "progress")), 0.25, 0);
	tell(m, 1, "{\"type\":\"progress\",\"progress\":1}");
	near(json_number_value(last(&seen, "progress")), 0.75, 0);
	over(m, &seen);
}

static void test_events_pass_as_they_came(void **state)
{
	static const char text[] = "{\"type\":\"events\",\"events\":[{}]}";
	struct seen seen;
	struct engine_merge *m = messages_new(2, &seen);

	(void)state;
	tell(m, 1, text);
	assert_ptr_equal(seen.text, text);
	tell(m, 0, "{\"type\":\"sip\",\"messages\":[{}]}");
	tell(m, 0, "{\"type\":\"artifact\",\"name\":\"caller-1-in.wav\"}");
	assert_int_equal(count(&seen), 3);
	over(m, &seen);
}

static void test_statistics_of_all_make_one_message(void **state)
{
	json_t *part = single(MEASURE_sip_pdd, T0, 4);
	json_t *message = json_pack("{s:s, s:[o, o]}", "type", "stats",
				    "series", part, closed(T0 + 10));
	struct seen seen;
	struct engine_merge *m = messages_new(2, &seen);

	(void)state;
	engine_merge_message(m, 0, message, "", 0);
	assert_int_equal(count(&seen), 0);
	engine_merge_message(m, 1, message, "", 0);
	assert_int_equal(count(&seen), 1);
	assert_null(seen.text);
	assert_int_equal(json_array_size(last(&seen, "series")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(
			json_array_get(last(&seen, "series"), 0), "n")),
		2);
	json_decref(message);
	over(m, &seen);
}

static void test_live_line_adds_up(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(2, &seen);
	json_t *in;

	(void)state;
	tell(m, 0,
	     "{\"type\":\"live\",\"calls_active\":3,\"in\":{\"packets\":100,"
	     "\"lost\":2,\"mos\":4.0},\"out\":{\"packets\":5}}");
	tell(m, 1,
	     "{\"type\":\"live\",\"calls_active\":4,\"in\":{\"packets\":300,"
	     "\"lost\":1,\"mos\":3.0},\"out\":{\"packets\":7}}");
	assert_int_equal(count(&seen), 0);
	/* the next second begins; engine 1 has no calls any more */
	tell(m, 0,
	     "{\"type\":\"live\",\"calls_active\":2,\"in\":{\"packets\":110,"
	     "\"lost\":2},\"out\":{\"packets\":6}}");
	assert_int_equal(count(&seen), 1);
	assert_int_equal(json_integer_value(last(&seen, "calls_active")), 7);
	in = last(&seen, "in");
	assert_int_equal(json_integer_value(json_object_get(in, "packets")),
			 400);
	assert_int_equal(json_integer_value(json_object_get(in, "lost")), 3);
	near(json_number_value(json_object_get(in, "mos")), 3.25, 1e-12);
	tell(m, 0,
	     "{\"type\":\"live\",\"calls_active\":2,\"in\":{\"packets\":110},"
	     "\"out\":{\"packets\":6}}");
	assert_int_equal(json_integer_value(last(&seen, "calls_active")), 2);
	assert_int_equal(json_integer_value(
				 json_object_get(last(&seen, "in"), "packets")),
			 410);
	over(m, &seen);
}

#define FINISH(outcome, reason)                       \
	"{\"type\":\"finish\",\"outcome\":\"" outcome \
	"\",\"reason\":\"" reason "\"}"

static void finishes(const char *a, const char *b, const char *c,
		     const char *outcome, const char *reason)
{
	const char *const texts[] = {a, b, c};
	struct seen seen;
	struct engine_merge *m = messages_new(3, &seen);

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(count(&seen), 0);
		tell(m, i, texts[i]);
		engine_merge_ended(m, i, "exited with status 0");
	}
	assert_int_equal(count(&seen), 1);
	assert_string_equal(json_string_value(last(&seen, "outcome")), outcome);
	assert_string_equal(json_string_value(last(&seen, "reason")), reason);
	assert_int_equal(engine_merge_failed(m),
			 strcmp(outcome, "completed") != 0);
	over(m, &seen);
}

static void test_finish_is_the_worst_outcome(void **state)
{
	(void)state;
	finishes(FINISH("completed", ""), FINISH("completed", ""),
		 FINISH("completed", ""), "completed", "");
	finishes(FINISH("stopped", "a"), FINISH("failed", "b"),
		 FINISH("stopped", "c"), "failed", "b");
	finishes(FINISH("failed", "a"), FINISH("error", "b"),
		 FINISH("error", "c"), "error", "b");
	finishes(FINISH("completed", ""), FINISH("stopped", "b"),
		 FINISH("completed", ""), "stopped", "b");
	finishes(FINISH("completed", ""), FINISH("what", ""),
		 FINISH("completed", ""), "error",
		 "an engine finished without a known outcome");
}

static void test_death_of_an_engine_is_an_error(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(4, &seen);

	(void)state;
	assert_false(engine_merge_failed(m));
	engine_merge_ended(m, 2, "signal 9 (Killed)");
	assert_true(engine_merge_failed(m));
	assert_int_equal(count(&seen), 0);
	for (uint32_t i = 0; i < 4; i++) {
		if (i != 2)
			tell(m, i, FINISH("stopped", "the run was cancelled"));
	}
	assert_int_equal(count(&seen), 1);
	assert_string_equal(json_string_value(last(&seen, "outcome")), "error");
	assert_string_equal(json_string_value(last(&seen, "reason")),
			    "engine process 3 of 4 died: signal 9 (Killed)");
	over(m, &seen);
}

/* Points that could not be merged are a flaw of the run, told before its end. */
static void test_dropped_points_are_a_flaw(void **state)
{
	struct seen seen;
	struct engine_merge *m = messages_new(2, &seen);
	json_t *flaw;

	(void)state;
	tell(m, 0, "{\"type\":\"stats\",\"series\":[{}]}");
	tell(m, 0, FINISH("completed", ""));
	tell(m, 1, FINISH("completed", ""));
	assert_int_equal(count(&seen), 2);
	flaw = json_array_get(
		json_object_get(json_array_get(seen.messages, 0), "events"), 0);
	assert_string_equal(json_string_value(json_object_get(flaw, "name")),
			    "points_dropped");
	assert_int_equal(json_integer_value(json_object_get(flaw, "count")), 1);
	over(m, &seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points_are_of_all_samples),
		cmocka_unit_test(test_point_of_one_engine_is_unchanged),
		cmocka_unit_test(test_interval_waits_for_all_engines),
		cmocka_unit_test(test_engine_that_ended_is_not_waited_for),
		cmocka_unit_test(test_open_intervals_have_a_ceiling),
		cmocka_unit_test(test_malformed_items_are_counted),
		cmocka_unit_test(test_calls_of_a_second_are_added_up),
		cmocka_unit_test(test_calls_of_an_engine_that_stood_still),
		cmocka_unit_test(test_ready_when_all_are),
		cmocka_unit_test(test_job_is_prepared_with_the_last_engine),
		cmocka_unit_test(test_step_began_with_the_last_engine),
		cmocka_unit_test(test_progress_is_the_mean),
		cmocka_unit_test(test_events_pass_as_they_came),
		cmocka_unit_test(test_statistics_of_all_make_one_message),
		cmocka_unit_test(test_live_line_adds_up),
		cmocka_unit_test(test_finish_is_the_worst_outcome),
		cmocka_unit_test(test_death_of_an_engine_is_an_error),
		cmocka_unit_test(test_dropped_points_are_a_flaw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
