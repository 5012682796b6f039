#include "agent/engine/call/calls.h"
#include "control/wire/job.h"
#include "control/wire/job_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <jansson.h>

#define CALL                                                                \
	"{\"type\":\"call\",\"index\":0,\"dial_destination\":\"1\","        \
	"\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\",\"port\":5060}]},"  \
	"\"credentials\":[{\"username\":\"1\"}],\"max_total_calls\":20000," \
	"\"max_concurrent_calls\":%s,\"calls_per_second\":%s}"
#define ANSWER                         \
	"{\"type\":\"answer\","        \
	"\"index\":0,\"credentials\":" \
	"[{\"username\":\"2\"}]%s}"

static uint32_t wanted_of(const char *steps, const struct wire_share *share)
{
	char text[2048];
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	uint32_t sessions;
	json_t *spec;

	snprintf(text, sizeof(text),
		 "{\"session_id\":\"0a1b2c3d-0000-4000-8000-000000000001\","
		 "\"role\":\"caller\",\"attempt\":1,\"interval_s\":1,"
		 "\"max_duration_s\":120,\"record\":\"none\",\"steps\":%s}",
		 steps);
	spec = json_loads(text, 0, NULL);
	assert_non_null(spec);
	if (wire_job_decode(&job, spec, reason))
		fail_msg("%s", reason);
	sessions = calls_sessions_wanted(job, share);
	wire_job_free(job);
	json_decref(spec);
	return sessions;
}

static uint32_t wanted(const char *steps)
{
	const struct wire_share whole = {.of = 1};

	return wanted_of(steps, &whole);
}

static uint32_t of_call(const char *concurrent, const char *rate)
{
	char steps[1024];

	snprintf(steps, sizeof(steps), "[[],[" CALL "]]", concurrent, rate);
	return wanted(steps);
}

static uint32_t of_answer(const char *limit)
{
	char steps[1024];

	snprintf(steps, sizeof(steps), "[[" ANSWER "],[]]", limit);
	return wanted(steps);
}

static void test_sessions_of_a_call_action(void **state)
{
	(void)state;
	assert_int_equal(of_call("1", "1"), 256);
	assert_int_equal(of_call("300", "20"), 321);
	assert_int_equal(of_call("300", "0.5"), 302);
	assert_int_equal(of_call("300", "12.5"), 314);
}

static void test_sessions_of_an_answer_action(void **state)
{
	(void)state;
	assert_int_equal(of_answer(""), 2000);
	assert_int_equal(of_answer(",\"max_concurrent_calls\":1"), 256);
	assert_int_equal(of_answer(",\"max_concurrent_calls\":400"), 800);
}

/* Each engine has its own part of the calls and of the rate. */
static void test_sessions_of_a_share(void **state)
{
	const struct wire_share first = {.index = 0, .of = 4};
	const struct wire_share last = {.index = 3, .of = 4};
	char steps[1024];

	(void)state;
	snprintf(steps, sizeof(steps), "[[],[" CALL "]]", "2001", "200");
	assert_int_equal(wanted_of(steps, &first), 501 + 50 + 1);
	assert_int_equal(wanted_of(steps, &last), 500 + 50 + 1);
}

static void test_sessions_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(of_answer(",\"max_concurrent_calls\":10000"),
			 CALLS_MAX);
	assert_int_equal(of_call("10000", "100"), CALLS_MAX);
}

static void test_sessions_of_both_add_up(void **state)
{
	char steps[2048];

	(void)state;
	snprintf(steps, sizeof(steps), "[[" ANSWER "],[" CALL "],[" CALL "]]",
		 ",\"max_concurrent_calls\":200", "300", "10", "100", "10");
	assert_int_equal(wanted(steps), 400 + 311);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions_of_a_call_action),
		cmocka_unit_test(test_sessions_of_an_answer_action),
		cmocka_unit_test(test_sessions_of_a_share),
		cmocka_unit_test(test_sessions_are_bounded),
		cmocka_unit_test(test_sessions_of_both_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
