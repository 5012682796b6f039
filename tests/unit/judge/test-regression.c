/* Conditions against the last passed runs: worse, not worse, or too few calls to tell. */
#include "case.h"

#include <errno.h>

/* Calls of a run, of which every nth differs in what a row names. */
struct calls {
	int count;
	int refused_every; /* 0: none */
	int slow_every;    /* 900 ms in place of 300 */
	int poor_every;    /* MOS 3, loss 10 % in place of 4.4, 0 % */
	int silent_every;  /* no post-dial delay */
};

static bool picks(int every, int i)
{
	return every && i % every == every - 1;
}

static json_t *call_of(const struct calls *c, int i)
{
	bool refused = picks(c->refused_every, i);
	bool poor = picks(c->poor_every, i);
	char name[32];
	json_t *event;

	snprintf(name, sizeof(name), "caller-%d", i);
	event = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:s, s:[{s:s, s:f, s:f}]}",
		"kind", "call", "call", name, "account", "1001", "direction",
		"out", "peer", "sip:x@y", "established", !refused, "code",
		refused ? 486 : 200, "end", refused ? "rejected" : "local",
		"streams", "dir", "in", "mos_total", poor ? 3.0 : 4.4,
		"loss_pct", poor ? 10.0 : 0.0);
	assert_non_null(event);
	if (!picks(c->silent_every, i))
		json_object_set_new(
			event, "pdd_ms",
			json_real(picks(c->slow_every, i) ? 900.0 : 300.0));
	return event;
}

static void add_now(struct judge_input *in, const struct calls *c)
{
	for (int i = 0; i < c->count; i++) {
		json_t *event = call_of(c, i);

		assert_int_equal(judge_input_add_event(in, "caller", event), 0);
		json_decref(event);
	}
}

static void add_earlier(struct judge_input *in, const struct calls *c)
{
	assert_int_equal(judge_input_next_earlier(in), 0);
	for (int i = 0; i < c->count; i++) {
		json_t *event = call_of(c, i);

		assert_int_equal(judge_input_add_earlier(in, "caller", event),
				 0);
		/* a role that this run has not, and no call at all */
		assert_int_equal(judge_input_add_earlier(in, "other", event),
				 0);
		json_object_del(event, "call");
		assert_int_equal(judge_input_add_earlier(in, "caller", event),
				 0);
		json_decref(event);
	}
}

/* A condition as text with ' for ", and what is compared. */
struct row {
	const char *condition;
	size_t runs; /* earlier ones, all alike */
	struct calls before, now;
	enum judge_status status;
	const char *part; /* of the description; of the verdict, if it passed */
};

static void judge(struct judge_result *ret, const struct row *row)
{
	json_t *array =
		json_pack("[{s:s, s:s, s:[o]}]", "role", "caller",
			  "condition_type", "caller-regression-conditions",
			  "conditions", load(row->condition));
	json_t *spec = json_pack("{s:s, s:[[{s:s, s:[{s:s}]}], [{s:s, s:i}]]}",
				 "role", "caller", "steps", "type", "register",
				 "credentials", "username", "1001", "type",
				 "call", "max_total_calls", row->now.count);
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
	add_now(in, &row->now);
	for (k = 0; k < row->runs; k++)
		add_earlier(in, &row->before);
	assert_int_equal(judge_run(ret, in, conditions), 0);
	judge_input_free(in);
	judge_conditions_free(conditions);
	json_decref(array);
	json_decref(spec);
	json_decref(begin);
}

#define ASR  "{'figure':'answer_seizure_ratio',"
#define PDD  "{'figure':'pdd_p95',"
#define MOS  "{'figure':'mos_p05',"
#define LOSS "{'figure':'loss_rate',"

/* clang-format off */
static const struct row rows[] = {
	/* worse, each in its direction */
	{ASR "'margin':'5'}", 5, {.count = 200}, {.count = 200, .refused_every = 4}, JUDGE_FAILED,
	 "caller: the answer-seizure ratio is worse than in the last 5 passed runs by more than 5 %: 75.00 % over 200 calls (between "},
	{PDD "'margin':'100'}", 5, {.count = 200}, {.count = 200, .slow_every = 3}, JUDGE_FAILED,
	 "caller: the 95th percentile of the post-dial delay is worse than in the last 5 passed runs by more than 100 ms: 95th percentile between 900 and 900 ms over 200 calls; before 95th percentile between 300 and 300 ms over 1000 calls in 5 of 5 passed runs; certain to 95 % after "},
	{PDD "'margin':100}", 5, {.count = 200}, {.count = 200, .silent_every = 3}, JUDGE_FAILED, "worse than"},
	{MOS "'margin':'0.5'}", 5, {.count = 200}, {.count = 200, .poor_every = 3}, JUDGE_FAILED, "5th percentile between 3.00 and 3.00 over 200 calls; before 5th percentile between 4.40 and 4.40 over"},
	{LOSS "'margin':'0.25'}", 5, {.count = 1000, .poor_every = 20}, {.count = 1000, .poor_every = 5}, JUDGE_FAILED,
	 "caller: the packet loss is worse than in the last 5 passed runs by more than 0.25 %: 2.00 % over 1000 calls (between "},
	/* as much worse as it may be, and better */
	{PDD "'margin':'600'}", 5, {.count = 200}, {.count = 200, .slow_every = 3}, JUDGE_PASSED, "95th percentile between 900 and 900 ms"},
	{MOS "'margin':'1.4'}", 5, {.count = 200}, {.count = 200, .poor_every = 3}, JUDGE_PASSED, "between 3.00 and 3.00"},
	{ASR "'margin':'5'}", 5, {.count = 400}, {.count = 400}, JUDGE_PASSED, "100.00 % over 400 calls (between "},
	{ASR "'margin':'5'}", 5, {.count = 400, .refused_every = 4}, {.count = 400}, JUDGE_PASSED, "before 75.00 % over 2000 calls"},
	{PDD "'margin':'0'}", 5, {.count = 400, .slow_every = 3}, {.count = 400}, JUDGE_PASSED, "before 95th percentile between 900 and 900 ms"},
	{MOS "'margin':'0'}", 5, {.count = 400, .poor_every = 3}, {.count = 400}, JUDGE_PASSED, "between 4.40 and 4.40"},
	{LOSS "'margin':'1'}", 5, {.count = 1000, .poor_every = 20}, {.count = 1000, .poor_every = 20}, JUDGE_PASSED, "0.50 % over 1000 calls"},
	/* too few calls, of this run or of those before */
	{ASR "'margin':'5'}", 5, {.count = 200}, {.count = 20}, JUDGE_ERRORED,
	 "caller: not enough calls to tell whether the answer-seizure ratio is at most 5 % worse than in the last 5 passed runs: 100.00 % over 20 calls (between "},
	{PDD "'margin':'100'}", 5, {.count = 8}, {.count = 200, .slow_every = 3}, JUDGE_ERRORED, "before 95th percentile between 300 and ? ms over 40 calls in 5 of 5 passed runs, with 95 % confidence"},
	{LOSS "'margin':'0'}", 5, {.count = 1000, .poor_every = 20}, {.count = 1000, .poor_every = 20}, JUDGE_ERRORED, "not enough calls"},
	/* runs to compare with are still being collected */
	{ASR "'margin':'5'}", 0, {.count = 1}, {.count = 20}, JUDGE_PASSED, "(between 80.23 and 100.00 %); no run has passed before"},
	{ASR "'margin':'5'}", 4, {.count = 20}, {.count = 20}, JUDGE_PASSED, "over 80 calls (between 94.63 and 100.00 %) in 4 of 5 passed runs"},
	{ASR "'margin':'5'}", 1, {.count = 200}, {.count = 200, .refused_every = 4}, JUDGE_FAILED, "in 1 of 5 passed runs"},
	/* the newest runs only */
	{ASR "'margin':'5','runs':2}", 5, {.count = 200}, {.count = 200}, JUDGE_PASSED, "over 400 calls (between 98.90 and 100.00 %) in 2 of 2 passed runs"},
	{ASR "'margin':'5','runs':'1','confidence':60}", 5, {.count = 200}, {.count = 60}, JUDGE_PASSED, "over 200 calls"},
};
/* clang-format on */

static void test_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct judge_result r;
		const json_t *v;
		const char *text;

		judge(&r, row);
		v = json_array_get(r.verdicts, json_array_size(r.verdicts) - 1);
		text = row->status == JUDGE_PASSED
			       ? json_string_value(json_object_get(v, "actual"))
			       : r.description;
		if (r.status != row->status || !strstr(text, row->part))
			fail_msg("row %zu: status %d, '%s'", i, r.status, text);
		assert_int_equal(json_is_true(json_object_get(v, "undecided")),
				 row->status == JUDGE_ERRORED);
		judge_result_release(&r);
	}
}

static void test_verdict(void **state)
{
	const struct row row = {PDD "'margin':'200','runs':10}",
				10,
				{.count = 100},
				{.count = 100},
				JUDGE_PASSED,
				""};
	struct judge_result r;
	const json_t *v;

	(void)state;
	judge(&r, &row);
	v = json_array_get(r.verdicts, json_array_size(r.verdicts) - 1);
	assert_string_equal(
		json_string_value(json_object_get(v, "text")),
		"caller: 95th percentile of the post-dial delay at most 200 ms "
		"worse than in the last 10 passed runs, with 95 % confidence");
	assert_string_equal(json_string_value(json_object_get(v, "expected")),
			    "at most 200 ms worse");
	assert_string_equal(json_string_value(json_object_get(v, "actual")),
			    "95th percentile between 300 and 300 ms over 100 "
			    "calls; before 95th percentile between 300 and 300 "
			    "ms over 1000 calls in 10 of 10 passed runs");
	judge_result_release(&r);
}

/* A run without a call says nothing, whatever there is to compare with. */
static void test_no_call(void **state)
{
	const struct row row = {
		LOSS "'margin':'1'}", 0,
		{.count = 1},         {.count = 2, .refused_every = 1},
		JUDGE_ERRORED,        ""};
	struct judge_result r;
	const json_t *v;

	(void)state;
	judge(&r, &row);
	v = json_array_get(r.verdicts, json_array_size(r.verdicts) - 1);
	assert_true(json_is_true(json_object_get(v, "undecided")));
	assert_string_equal(json_string_value(json_object_get(v, "actual")),
			    "no such call");
	judge_result_release(&r);
}

static void test_runs_above_the_ceiling(void **state)
{
	struct judge_input *in;

	(void)state;
	assert_int_equal(judge_input_new(&in), 0);
	for (unsigned i = 0; i < JUDGE_EARLIER_MAX; i++)
		assert_int_equal(judge_input_next_earlier(in), 0);
	assert_int_equal(judge_input_next_earlier(in), -EMSGSIZE);
	judge_input_free(in);
}

static struct judge_conditions *parsed(const char *item)
{
	struct judge_conditions *c = NULL;
	struct judge_problem problem;
	json_t *array = json_pack(
		"[{s:s, s:s, s:[o]}]", "role", "caller", "condition_type",
		"caller-regression-conditions", "conditions", load(item));

	assert_int_equal(judge_conditions_new(&c, array, &problem), 0);
	json_decref(array);
	return c;
}

static void test_runs_that_are_read(void **state)
{
	struct judge_conditions *c = parsed(LOSS "'margin':1}");

	(void)state;
	assert_int_equal(judge_conditions_need_earlier(c), 5);
	judge_conditions_free(c);
	c = parsed(LOSS "'margin':1,'runs':'20'}");
	assert_int_equal(judge_conditions_need_earlier(c), 20);
	judge_conditions_free(c);
}

static void refuse(const char *item, const char *member, const char *reason)
{
	struct judge_conditions *c = NULL;
	struct judge_problem problem;
	char pointer[80];
	json_t *array = json_pack(
		"[{s:s, s:s, s:[o]}]", "role", "caller", "condition_type",
		"caller-regression-conditions", "conditions", load(item));

	assert_int_equal(judge_conditions_new(&c, array, &problem), -EINVAL);
	snprintf(pointer, sizeof(pointer), "/0/conditions/0/%s", member);
	assert_string_equal(problem.pointer, pointer);
	if (!strstr(problem.reason, reason))
		fail_msg("%s", problem.reason);
	json_decref(array);
}

static void test_wrong_entries(void **state)
{
	(void)state;
	refuse("{'figure':'loss','margin':1}", "figure", "must be one of");
	refuse(LOSS "'value':1}", "value", "has no field 'value'");
	refuse("{'figure':'loss_rate'}", "margin", "from 0 to 100");
	refuse(MOS "'margin':'4.5'}", "margin", "from 0 to 4");
	refuse(LOSS "'margin':'-1'}", "margin", "from 0 to 100");
	refuse(LOSS "'margin':'much'}", "margin", "from 0 to 100");
	refuse(LOSS "'margin':true}", "margin", "from 0 to 100");
	refuse(LOSS "'margin':1,'runs':0}", "runs", "from 1 to 20");
	refuse(LOSS "'margin':1,'runs':21}", "runs", "from 1 to 20");
	refuse(LOSS "'margin':1,'runs':'2.5'}", "runs", "whole number");
	refuse(LOSS "'margin':1,'confidence':101}", "confidence", "from 50 to");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_no_call),
		cmocka_unit_test(test_runs_above_the_ceiling),
		cmocka_unit_test(test_runs_that_are_read),
		cmocka_unit_test(test_wrong_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
