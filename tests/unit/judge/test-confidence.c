/* Conditions on a figure of many calls: they hold, fail, or are left open by too few calls. */
#include "case.h"

#include <errno.h>
#include <stdlib.h>

/* Calls of a role, of which every nth differs in what a row names. */
struct calls {
	int count;
	int refused_every; /* 0: none */
	int slow_every;    /* 3000 ms in place of 120 */
	int poor_every;    /* MOS 2.5, loss 10 % in place of 4.4, 0 % */
	int silent_every;  /* no stream */
	bool bad_last;     /* what differs comes last in time */
};

static bool picks(const struct calls *c, int every, int i)
{
	if (c->bad_last)
		return every && i >= c->count - c->count / every;
	return every && i % every == every - 1;
}

static void add(struct judge_input *in, json_t *event)
{
	assert_non_null(event);
	assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	json_decref(event);
}

static void add_call(struct judge_input *in, const struct calls *c, int i)
{
	bool refused = picks(c, c->refused_every, i);
	bool poor = picks(c, c->poor_every, i);
	json_t *streams = json_array();
	char name[32];

	snprintf(name, sizeof(name), "caller-%d", i);
	add(in, json_pack("{s:s, s:s, s:s, s:s, s:i}", "kind", "state", "state",
			  "CALL_OUTGOING", "account", "1001", "call", name,
			  "mono", 10 + i));
	if (!refused && !picks(c, c->silent_every, i))
		json_array_append_new(streams,
				      json_pack("{s:s, s:f, s:f}", "dir", "in",
						"mos_total", poor ? 2.5 : 4.4,
						"loss_pct", poor ? 10.0 : 0.0));
	if (refused)
		add(in, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:s, "
				  "s:s, s:o}",
				  "kind", "call", "call", name, "account",
				  "1001", "direction", "out", "peer", "sip:x@y",
				  "established", 0, "code", 486, "reason",
				  "Busy Here", "end", "rejected", "streams",
				  streams));
	else
		add(in, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:f, "
				  "s:s, s:o}",
				  "kind", "call", "call", name, "account",
				  "1001", "direction", "out", "peer", "sip:x@y",
				  "established", 1, "code", 200, "pdd_ms",
				  picks(c, c->slow_every, i) ? 3000.0 : 120.0,
				  "end", "local", "streams", streams));
}

static void judge(struct judge_result *ret, const char *figure,
		  const char *type, const char *value,
		  const struct calls *calls)
{
	json_t *array = json_pack(
		"[{s:s, s:s, s:[{s:s, s:s, s:s}]}]", "role", "caller",
		"condition_type", "caller-confidence-conditions", "conditions",
		"figure", figure, "type", type, "value", value);
	json_t *spec = json_pack("{s:s, s:[[{s:s, s:[{s:s}]}], [{s:s, s:i}]]}",
				 "role", "caller", "steps", "type", "register",
				 "credentials", "username", "1001", "type",
				 "call", "max_total_calls", calls->count);
	json_t *begin = load("[" REGISTERED "," EVIDENCE "]"), *event;
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_input *in;
	size_t k;

	assert_int_equal(judge_conditions_new(&conditions, array, &problem), 0);
	assert_int_equal(judge_input_new(&in), 0);
	assert_int_equal(judge_input_add_spec(in, spec), 0);
	json_array_foreach(begin, k, event)
		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
	for (int i = 0; i < calls->count; i++)
		add_call(in, calls, i);
	assert_int_equal(judge_run(ret, in, conditions), 0);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(spec);
	json_decref(begin);
}

struct row {
	const char *figure, *type, *value;
	struct calls calls;
	enum judge_status status;
	const char *description; /* a part */
};

static const struct row rows[] = {
	{"answer_seizure_ratio", "ge", "95", {.count = 400}, JUDGE_PASSED, ""},
	{"answer_seizure_ratio",
	 "ge",
	 "95",
	 {.count = 400, .refused_every = 100},
	 JUDGE_PASSED,
	 ""},
	{"answer_seizure_ratio",
	 "ge",
	 "95",
	 {.count = 400, .refused_every = 5},
	 JUDGE_FAILED,
	 "caller: the answer-seizure ratio is not at least 95 %: 80.00 % over "
	 "400 calls (between "},
	{"answer_seizure_ratio",
	 "ge",
	 "95",
	 {.count = 20},
	 JUDGE_ERRORED,
	 "caller: not enough calls to tell whether the answer-seizure ratio is "
	 "at least 95 %: 100.00 % over 20 calls (between "},
	{"answer_seizure_ratio",
	 "ge",
	 "95",
	 {.count = 400, .refused_every = 20},
	 JUDGE_ERRORED,
	 "not enough calls"},
	{"pdd_p95", "le", "2000", {.count = 200}, JUDGE_PASSED, ""},
	{"pdd_p95",
	 "le",
	 "2000",
	 {.count = 600, .slow_every = 50},
	 JUDGE_PASSED,
	 ""},
	{"pdd_p95",
	 "le",
	 "2000",
	 {.count = 300, .slow_every = 6},
	 JUDGE_FAILED,
	 "caller: the 95th percentile of the post-dial delay is not at most "
	 "2000 ms: 16.67 % of 300 calls longer than 2000 ms (between "},
	{"pdd_p95",
	 "le",
	 "2000",
	 {.count = 300, .slow_every = 6},
	 JUDGE_FAILED,
	 " %), 95th percentile between 3000 and 3000 ms over 300 calls; "
	 "certain to 95 % after "},
	{"pdd_p95",
	 "le",
	 "2000",
	 {.count = 40},
	 JUDGE_ERRORED,
	 " %), 95th percentile between 120 and ? ms over 40 calls, with"},
	{"pdd_p95",
	 "le",
	 "2000",
	 {.count = 40},
	 JUDGE_ERRORED,
	 "not enough calls"},
	{"mos_p05", "ge", "4", {.count = 200}, JUDGE_PASSED, ""},
	{"mos_p05",
	 "ge",
	 "4",
	 {.count = 300, .poor_every = 5},
	 JUDGE_FAILED,
	 "calls below 4 (between"},
	{"mos_p05",
	 "ge",
	 "4",
	 {.count = 300, .silent_every = 5},
	 JUDGE_FAILED,
	 "20.00 % of 300 calls below 4"},
	/* the other operators: a system that is meant to be slow or lossy */
	{"answer_seizure_ratio",
	 "le",
	 "50",
	 {.count = 400, .refused_every = 4},
	 JUDGE_FAILED,
	 "the answer-seizure ratio is not at most 50 %: 75.00 %"},
	{"pdd_p95",
	 "ge",
	 "3000",
	 {.count = 300, .slow_every = 5},
	 JUDGE_PASSED,
	 ""},
	{"pdd_p95",
	 "ge",
	 "3001",
	 {.count = 300, .slow_every = 5},
	 JUDGE_FAILED,
	 "0.00 % of 300 calls of at least 3001 ms (between"},
	{"mos_p05",
	 "le",
	 "2.5",
	 {.count = 300, .poor_every = 5},
	 JUDGE_PASSED,
	 ""},
	{"mos_p05",
	 "le",
	 "2.4",
	 {.count = 300, .poor_every = 5},
	 JUDGE_FAILED,
	 "of at most 2.4 (between"},
	{"loss_rate",
	 "ge",
	 "5",
	 {.count = 1500},
	 JUDGE_FAILED,
	 "not at least 5 %"},
	{"loss_rate", "le", "0.5", {.count = 1500}, JUDGE_PASSED, ""},
	{"loss_rate",
	 "le",
	 "0.5",
	 {.count = 1000, .poor_every = 4},
	 JUDGE_FAILED,
	 "caller: the packet loss is not at most 0.5 %: 2.50 % over 1000 calls"},
	{"loss_rate",
	 "le",
	 "5",
	 {.count = 300, .silent_every = 3},
	 JUDGE_FAILED,
	 "33.33 % over 300"},
	{"loss_rate",
	 "le",
	 "0.5",
	 {.count = 50},
	 JUDGE_ERRORED,
	 "not enough calls"},
};

static void test_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct judge_result r;

		judge(&r, row->figure, row->type, row->value, &row->calls);
		if (r.status != row->status ||
		    !strstr(r.description, row->description))
			fail_msg("row %zu: status %d, '%s'", i, r.status,
				 r.description);
		judge_result_release(&r);
	}
}

/* The verdict says which of the three it is. */
static void test_verdict(void **state)
{
	const struct calls few = {.count = 20}, many = {.count = 400};
	struct judge_result r;
	const json_t *v;

	(void)state;
	judge(&r, "answer_seizure_ratio", "ge", "95", &few);
	v = json_array_get(r.verdicts, json_array_size(r.verdicts) - 1);
	assert_true(json_is_true(json_object_get(v, "undecided")));
	assert_true(json_is_false(json_object_get(v, "passed")));
	assert_string_equal(json_string_value(json_object_get(v, "text")),
			    "caller: answer-seizure ratio at least 95 %, with "
			    "95 % confidence");
	judge_result_release(&r);
	judge(&r, "answer_seizure_ratio", "ge", "95", &many);
	v = json_array_get(r.verdicts, json_array_size(r.verdicts) - 1);
	assert_null(json_object_get(v, "undecided"));
	assert_true(json_is_true(json_object_get(v, "passed")));
	assert_null(json_object_get(v, "sentence"));
	judge_result_release(&r);
}

/* The calls count in the order in which they began: what the first of them proved stands. */
static void test_order_of_beginning(void **state)
{
	struct calls calls = {
		.count = 1000, .refused_every = 5, .bad_last = true};
	struct judge_result r;

	(void)state;
	judge(&r, "answer_seizure_ratio", "ge", "90", &calls);
	assert_int_equal(r.status, JUDGE_PASSED);
	judge_result_release(&r);
	calls.bad_last = false;
	judge(&r, "answer_seizure_ratio", "ge", "90", &calls);
	assert_int_equal(r.status, JUDGE_FAILED);
	judge_result_release(&r);
}

/* A run of which some calls have not ended, and what its calls say so far. `bad` calls come first and
 * are refused, then `up` calls that are not over, then good ones. */
static int decided(const char *options, int bad, int up, int good)
{
	json_t *array = json_pack(
		"[{s:s, s:s, s:[{s:s, s:s, s:s}], s:o}, {s:s, s:s, s:[{s:s, "
		"s:s}]}]",
		"role", "caller", "condition_type",
		"caller-confidence-conditions", "conditions", "figure",
		"answer_seizure_ratio", "type", "ge", "value", "90", "options",
		load(options), "role", "caller", "condition_type",
		"caller-postdial-delay-conditions", "conditions", "type", "le",
		"value", "100");
	const struct calls kinds[] = {
		{.count = bad, .refused_every = 1},
		{.count = bad + up + good},
	};
	struct judge_conditions *conditions;
	struct judge_problem problem;
	struct judge_input *in;
	int answer;

	assert_int_equal(judge_conditions_new(&conditions, array, &problem), 0);
	assert_int_equal(judge_conditions_stop_early(conditions),
			 strcmp(options, "[]") != 0);
	assert_int_equal(judge_input_new(&in), 0);
	for (int i = 0; i < bad; i++)
		add_call(in, &kinds[0], i);
	for (int i = bad; i < bad + up; i++)
		add(in, json_pack("{s:s, s:s, s:s, s:s+, s:i}", "kind", "state",
				  "state", "CALL_OUTGOING", "account", "1001",
				  "call", "up-", i % 2 ? "1" : "2", "mono",
				  10 + i));
	for (int i = bad + up; i < bad + up + good; i++)
		add_call(in, &kinds[1], i);
	answer = judge_is_decided(in, conditions);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	return answer;
}

static void test_run_in_progress(void **state)
{
	(void)state;
	assert_int_equal(decided("['stop_early']", 0, 0, 100), 1); /* holds */
	assert_int_equal(decided("['stop_early']", 0, 0, 20), 0);
	assert_int_equal(decided("['stop_early']", 20, 0, 0), 1); /* fails */
	assert_int_equal(decided("['stop_early']", 0, 0, 0), 0);
	/* calls after one that is not over do not count yet */
	assert_int_equal(decided("['stop_early']", 0, 1, 100), 0);
	assert_int_equal(decided("['stop_early']", 20, 1, 100), 1);
	assert_int_equal(decided("[]", 0, 0, 100), 1);
}

/* A run that its calls have ended need not place the others. */
static void test_run_that_ended_early(void **state)
{
	json_t *spec = load(CALLER(5));
	json_t *events = load(ONE), *event;
	json_t *array = json_array();
	struct judge_conditions *conditions;
	struct judge_problem problem;

	(void)state;
	assert_int_equal(judge_conditions_new(&conditions, array, &problem), 0);
	for (int early = 0; early < 2; early++) {
		struct judge_input *in;
		struct judge_result r;
		size_t k;

		assert_int_equal(judge_input_new(&in), 0);
		assert_int_equal(judge_input_add_spec(in, spec), 0);
		json_array_foreach(events, k, event) assert_int_equal(
			judge_input_add_event(in, "caller", event), 0);
		if (early)
			judge_input_ended_early(in);
		assert_int_equal(judge_run(&r, in, conditions), 0);
		assert_int_equal(r.status, early ? JUDGE_PASSED : JUDGE_FAILED);
		judge_result_release(&r);
		judge_input_free(in);
	}
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(events);
	json_decref(spec);
}

/* What failed goes before what is open, and a refused call fails the run where the ratio is not asked. */
static void test_failure_goes_first(void **state)
{
	const struct calls calls = {.count = 20, .refused_every = 20};
	struct judge_result r;

	(void)state;
	judge(&r, "mos_p05", "ge", "4", &calls);
	assert_int_equal(r.status, JUDGE_FAILED);
	assert_non_null(strstr(r.description, "was not established"));
	assert_null(strstr(r.description, "not enough calls"));
	judge_result_release(&r);
}

static void refuse(const char *item, const char *pointer, const char *reason)
{
	struct judge_conditions *c = NULL;
	struct judge_problem problem;
	json_t *array = json_pack(
		"[{s:s, s:s, s:[o]}]", "role", "caller", "condition_type",
		"caller-confidence-conditions", "conditions", load(item));

	assert_int_equal(judge_conditions_new(&c, array, &problem), -EINVAL);
	assert_string_equal(problem.pointer, pointer);
	if (!strstr(problem.reason, reason))
		fail_msg("%s", problem.reason);
	json_decref(array);
}

static void test_wrong_entries(void **state)
{
	(void)state;
	refuse("{'figure':'mos','type':'ge','value':'4'}",
	       "/0/conditions/0/figure",
	       "one of answer_seizure_ratio, pdd_p95, mos_p05, loss_rate");
	refuse("{'figure':'pdd_p95','type':'eq','value':'4'}",
	       "/0/conditions/0/type", "type must be ge or le");
	refuse("{'figure':'answer_seizure_ratio','type':'ge','value':'101'}",
	       "/0/conditions/0/value", "from 0 to 100");
	refuse("{'figure':'mos_p05','type':'ge','value':4,'confidence':'100'}",
	       "/0/conditions/0/confidence", "from 50 to 99.999");
	refuse("{'figure':'mos_p05','type':'ge','value':4,'confidence':[]}",
	       "/0/conditions/0/confidence", "from 50 to 99.999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_order_of_beginning),
		cmocka_unit_test(test_run_in_progress),
		cmocka_unit_test(test_run_that_ended_early),
		cmocka_unit_test(test_failure_goes_first),
		cmocka_unit_test(test_wrong_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
