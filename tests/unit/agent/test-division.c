/*
 * Which jobs are divided, and over how many engines.
 */
#include "agent/supervisor/job_division.h"

#include "control/wire/job_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <jansson.h>

#define TARGET "\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\",\"port\":5060}]}"
#define USERS4                                                        \
	"\"credentials\":[{\"username\":\"1\"},{\"username\":\"2\"}," \
	"{\"username\":\"3\"},{\"username\":\"4\"}]"
#define USERS6                                                            \
	"\"credentials\":[{\"username\":\"1\"},{\"username\":\"2\"},"     \
	"{\"username\":\"3\"},{\"username\":\"4\"},{\"username\":\"5\"}," \
	"{\"username\":\"6\"}]"
#define CALL(more)                                                          \
	"{\"type\":\"call\",\"index\":0,\"dial_destination\":\"1\"," TARGET \
	",\"credentials\":[{\"username\":\"1\"}]" more "}"
#define LARGE ",\"max_total_calls\":1000,\"max_concurrent_calls\":200"
#define REGISTER(users) \
	"{\"type\":\"register\",\"index\":0," TARGET "," users "}"
#define WAIT(more) "{\"type\":\"wait\",\"index\":0,\"wait_ms\":1000" more "}"

/* @param more  further members of the job's JSON text, each followed by a comma: "\"a\":1," */
static uint32_t engines_of_job(const char *more, const char *steps,
			       uint32_t engines_max)
{
	char text[4096];
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	uint32_t engines, interval_s = 0;
	json_t *spec;

	snprintf(text, sizeof(text),
		 "{\"session_id\":\"0a1b2c3d-0000-4000-8000-000000000001\","
		 "%s\"role\":\"caller\",\"attempt\":1,\"interval_s\":7,"
		 "\"max_duration_s\":120,\"record\":\"none\",\"steps\":%s}",
		 more, steps);
	spec = json_loads(text, 0, NULL);
	if (!spec)
		fail_msg("not JSON: %s", text);
	if (wire_job_decode(&job, spec, reason))
		fail_msg("%s", reason);
	wire_job_free(job);
	engines = job_division(spec, engines_max, &interval_s);
	if (engines > 1)
		assert_int_equal(interval_s, 7);
	json_decref(spec);
	return engines;
}

static uint32_t engines_of(const char *steps, uint32_t engines_max)
{
	return engines_of_job("", steps, engines_max);
}

static void test_division_of_large_jobs_only(void **state)
{
	(void)state;
	assert_int_equal(engines_of("[[" CALL(LARGE) "]]", 4), 4);
	assert_int_equal(engines_of("[[" CALL(LARGE) "]]", 1), 1);
	assert_int_equal(
		engines_of("[[" CALL(",\"max_total_calls\":1000,"
				     "\"max_concurrent_calls\":199") "]]",
			   4),
		1);
	assert_int_equal(engines_of("[[" CALL(",\"max_total_calls\":1000,"
					      "\"max_concurrent_calls\":100,"
					      "\"calls_per_second\":100") "]]",
				    4),
			 4);
	assert_int_equal(engines_of("[[" CALL(",\"max_total_calls\":1000,"
					      "\"max_concurrent_calls\":100,"
					      "\"calls_per_second\":99") "]]",
				    4),
			 1);
	assert_int_equal(engines_of("[[]]", 4), 1);
}

/* No engine has a limit of 0, or nothing to do. */
static void test_division_never_over_more_engines_than_calls(void **state)
{
	(void)state;
	assert_int_equal(engines_of("[[" CALL(",\"max_total_calls\":1000,"
					      "\"max_concurrent_calls\":3,"
					      "\"calls_per_second\":500") "]]",
				    8),
			 3);
	assert_int_equal(
		engines_of("[[" CALL(",\"max_total_calls\":2,"
				     "\"max_concurrent_calls\":200") "]]",
			   8),
		2);
}

static void test_division_divides_the_registered_accounts(void **state)
{
	(void)state;
	assert_int_equal(
		engines_of("[[" REGISTER(USERS4) "],[" CALL(LARGE) "]]", 3), 2);
	assert_int_equal(
		engines_of("[[" REGISTER(USERS6) "],[" CALL(LARGE) "]]", 5), 3);
	assert_int_equal(engines_of("[[" REGISTER(USERS4) "],[" REGISTER(
					    USERS6) "],[" CALL(LARGE) "]]",
				    8),
			 2);
	assert_int_equal(
		engines_of(
			"[[" REGISTER(
				"\"credentials\":[{\"username\":\"1\"}]") "],"
									  "[" CALL(
										  LARGE) "]]",
			8),
		1);
}

/* What exists once stays in one engine. */
static void test_division_not_of_what_exists_once(void **state)
{
	static const char *const steps[] = {
		"[[{\"type\":\"answer\",\"index\":0,\"credentials\":"
		"[{\"username\":\"2\"}]}," CALL(LARGE) "]]",
		"[[" WAIT("") "," CALL(LARGE) "]]",
		"[[" CALL(LARGE) "],[" WAIT(",\"wait_calls\":3") "]]",
		"[[" CALL(LARGE ",\"rtp_capture\":true") "]]",
		"[[" CALL(LARGE ",\"client\":\"baresip\"") "]]",
		"[[{\"type\":\"options\",\"index\":0," TARGET
		",\"credentials\":[{\"username\":\"2\"}]}],[" CALL(LARGE) "]]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		assert_int_equal(engines_of(steps[i], 4), 1);
	/* a step that only waits is in every engine */
	assert_int_equal(
		engines_of("[[" WAIT("") "],[" CALL(LARGE) "," WAIT("") "]]",
			   4),
		4);
}

/* All engines of all shards have accounts and calls of their own. */
static void test_division_of_a_shard(void **state)
{
	static const char shard[] = "\"share\":{\"index\":1,\"of\":2},";

	(void)state;
	assert_int_equal(
		engines_of_job(shard,
			       "[[" REGISTER(USERS4) "],[" CALL(LARGE) "]]", 4),
		2);
	assert_int_equal(
		engines_of_job(shard,
			       "[[" REGISTER(USERS6) "],[" CALL(LARGE) "]]", 5),
		3);
	assert_int_equal(engines_of_job(shard, "[[" CALL(LARGE) "]]", 4), 4);
	assert_int_equal(engines_of_job(shard,
					"[[" CALL(",\"max_total_calls\":7,"
						  "\"max_concurrent_calls\":"
						  "200") "]]",
					4),
			 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_division_of_large_jobs_only),
		cmocka_unit_test(
			test_division_never_over_more_engines_than_calls),
		cmocka_unit_test(test_division_divides_the_registered_accounts),
		cmocka_unit_test(test_division_not_of_what_exists_once),
		cmocka_unit_test(test_division_of_a_shard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
