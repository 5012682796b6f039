#include "control/server/run/plan.h"
#include "control/server/run/plan_pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON in here is written with ' for ". */
static json_t *load(const char *text)
{
	char buffer[4096];
	json_t *json;
	size_t i;

	for (i = 0; text[i]; i++)
		buffer[i] = text[i] == '\'' ? '"' : text[i];
	buffer[i] = '\0';
	json = json_loads(buffer, 0, NULL);
	assert_non_null(json);
	return json;
}

static int credentials(void *arg, int64_t pool_id, json_t **ret)
{
	(void)arg;
	if (pool_id == 3)
		return -EIO;
	if (pool_id == 1)
		*ret = load("[{'username':'1001','password':'p1'}]");
	else if (pool_id == 2)
		*ret = load("[{'username':'2001','password':'p2'},"
			    "{'username':'2002','password':'p3'}]");
	else if (pool_id == 6)
		*ret = load("[{'username':'first.wav'},"
			    "{'username':'uploaded'}]");
	else
		*ret = json_array();
	return 0;
}

static int target(void *arg, int64_t target_id, json_t **ret)
{
	(void)arg;
	if (target_id != 5)
		return -ENOENT;
	*ret = load("{'hosts':[{'host':'127.0.0.1','port':5070}]}");
	return 0;
}

static int prompt(void *arg, const char *name, char sha256[static 65])
{
	(void)arg;
	if (strcmp(name, "broken") == 0)
		return -EIO;
	if (strcmp(name, "softphone") == 0)
		return -EMEDIUMTYPE;
	if (strcmp(name, "uploaded") != 0)
		return -ENOENT;
	memset(sha256, 'a', 64);
	sha256[64] = '\0';
	return 0;
}

static int make(struct plan *plan, const char *steps, const char *conditions,
		json_t *errors)
{
	const struct plan_source source = {
		.credentials = credentials, .target = target, .prompt = prompt};
	struct plan_params params = {
		.session_id = "00000000-0000-4000-8000-000000000001",
		.attempt = 1,
		.interval_s = 10,
		.max_duration_s = 60,
		.record = "none",
		.steps = load(steps),
		.conditions = load(conditions),
	};
	int err = plan_make(plan, &params, &source, errors);

	json_decref(params.steps);
	json_decref(params.conditions);
	return err;
}

#define SINGLE                                                                  \
	"[[{'type':'register','role':'callee','credential_pool':2,"             \
	"'target_pool':5,'regexpire':'60'},{'type':'answer','role':'callee'}]," \
	"[{'type':'register','role':'caller','credential_pool':1,"              \
	"'target_pool':5},{'type':'call','role':'caller','target_pool':5,"      \
	"'max_total_calls':'2'}]]"

static json_t *at(struct plan *plan, size_t role, size_t s, size_t a)
{
	return json_array_get(
		json_array_get(json_object_get(plan->roles[role].spec, "steps"),
			       s),
		a);
}

static void test_plan_single_call(void **state)
{
	json_t *errors = json_array(), *peers, *public_spec;
	struct plan plan;
	char *text;

	(void)state;
	assert_int_equal(make(&plan, SINGLE, "[]", errors), 0);
	assert_int_equal(json_array_size(errors), 0);
	assert_int_equal(plan.role_count, 2);
	assert_string_equal(plan.roles[0].role, "callee");
	assert_null(at(&plan, 0, 1, 0)); /* the caller's step */
	assert_int_equal(json_integer_value(json_object_get(at(&plan, 0, 0, 0),
							    "regexpire")),
			 60);
	assert_int_equal(json_integer_value(
				 json_object_get(at(&plan, 1, 1, 1), "index")),
			 1);
	assert_string_equal(json_string_value(json_object_get(
				    at(&plan, 1, 1, 1), "dial_destination")),
			    "{{callee.username}}");
	peers = json_object_get(json_object_get(plan.roles[1].spec, "peers"),
				"callee");
	assert_int_equal(json_array_size(peers), 2);
	public_spec = plan_spec_public(plan.roles[1].spec);
	text = json_dumps(public_spec, 0);
	assert_null(strstr(text, "p1"));
	assert_non_null(strstr(text, "1001"));
	free(text);
	json_decref(public_spec);
	text = json_dumps(plan.roles[1].spec, 0);
	assert_non_null(strstr(text, "p1"));
	free(text);
	plan_release(&plan);
	json_decref(errors);
}

static void test_plan_says_what_an_agent_needs(void **state)
{
	json_t *errors = json_array(), *needs;
	struct plan plan;
	char *text;

	(void)state;
	assert_int_equal(
		make(&plan,
		     "[[{'type':'answer','role':'B','audio_codecs':['PCMU'],"
		     "'media_encryption':'none'},"
		     "{'type':'call','role':'A','target_pool':5,"
		     "'dial_destination':'1','transport':'tls',"
		     "'media_encryption':'sdes-mandatory',"
		     "'audio_codecs':['opus','PCMA','G722']},"
		     "{'type':'call','role':'A','target_pool':5,"
		     "'dial_destination':'1','client':'baresip',"
		     "'audio_codecs':['opus']}]]",
		     "[]", errors),
		0);
	assert_int_equal(json_array_size(errors), 0);
	/* what every agent supports is not a requirement */
	assert_null(json_object_get(plan.roles[0].spec, "needs"));
	needs = json_object_get(plan.roles[1].spec, "needs");
	text = json_dumps(needs, JSON_COMPACT);
	assert_string_equal(text, "[\"encryption:sdes\",\"transport:tls\","
				  "\"codec:opus\",\"codec:G722\","
				  "\"client:baresip\"]");
	free(text);
	plan_release(&plan);
	json_decref(errors);
}

static void test_plan_records_sip_for_conditions(void **state)
{
	json_t *errors = json_array();
	struct plan plan;

	(void)state;
	assert_int_equal(make(&plan, SINGLE,
			      "[{'role':'caller','condition_type':"
			      "'caller-sip-conditions','conditions':[{'type':"
			      "'ispresent','field':'sdp','method':'200'}]}]",
			      errors),
			 0);
	assert_int_equal(json_array_size(errors), 0);
	assert_string_equal(json_string_value(json_object_get(
				    plan.roles[0].spec, "record")),
			    "sip");
	plan_release(&plan);
	json_decref(errors);
}

static const struct {
	const char *steps;
	const char *conditions;
	const char *pointer;
	const char *detail;
} wrong[] = {
	{"[[{'type':'wait','role':'A','wait_ms':5}]]", "[]", "/steps",
	 "no action that registers"},
	{"[[{'type':'register','role':'A','credential_pool':9,"
	 "'target_pool':5}]]",
	 "[]", "/step.0.0.credential_pool", "no credential pool"},
	{"[[{'type':'register','role':'A','credential_pool':1,"
	 "'target_pool':6}]]",
	 "[]", "/step.0.0.target_pool", "no target"},
	{"[[{'type':'register','role':'A','credential_pool':1}]]", "[]",
	 "/step.0.0.target_pool", "is missing"},
	{"[[{'type':'answer','role':'B'},{'type':'call','role':'A',"
	 "'target_pool':5}]]",
	 "[]", "/step.0.1.dial_destination", "is missing"},
	/* of a value: as an array, and as an HTML form sends it */
	{"[[{'type':'answer','role':'B','sipclient_actions':[['hold',''],"
	 "['wait','x']]}]]",
	 "[]", "/step.0.0.sipclient_actions/1/1",
	 "sipclient_actions wait needs milliseconds"},
	{"[[{'type':'answer','role':'B','sipclient_actions':[['hold',''],"
	 "['message','{{nobody.username}}']]}]]",
	 "[]", "/step.0.0.sipclient_actions/1/1",
	 "has a placeholder that is unknown"},
	{"[[{'type':'answer','role':'B','sipclient_actions':'[[\\\"fly\\\"]]'}]]",
	 "[]", "/step.0.0.sipclient_actions/0/0", "no action \"fly\""},
	{"[[{'type':'answer','role':'B','custom_headers':[['X-A','b'],"
	 "['Via','c']]}]]",
	 "[]", "/step.0.0.custom_headers/1/0", "by the user agent itself"},
	{"[[{'type':'answer'}]]", "[]", "/step.0.0.role", "no valid role"},
	{"[[{'type':'answer','role':'B','bogus':1}]]", "[]", "/step.0.0.bogus",
	 "no parameter"},
	{"[[{'type':'answer','role':'B'}]]",
	 "[{'role':'A','condition_type':'A-mos-conditions','conditions':["
	 "{'type':'ge','value':'4'}]}]",
	 "/conditions/0/role", "no role 'A'"},
	{"[[{'type':'answer','role':'B'}]]",
	 "[{'role':'B','condition_type':'B-mos-conditions','conditions':["
	 "{'type':'ge','value':'x'}]}]",
	 "/conditions/0/conditions/0/value", "must be a number"},
};

static void test_plan_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *errors = json_array(), *error;
		struct plan plan;

		assert_int_equal(make(&plan, wrong[i].steps,
				      wrong[i].conditions, errors),
				 0);
		error = json_array_get(errors, 0);
		if (!error)
			fail_msg("%s: no error", wrong[i].steps);
		assert_string_equal(
			json_string_value(json_object_get(error, "pointer")),
			wrong[i].pointer);
		if (!strstr(json_string_value(json_object_get(error, "detail")),
			    wrong[i].detail))
			fail_msg("%s", json_string_value(json_object_get(
					       error, "detail")));
		plan_release(&plan);
		json_decref(errors);
	}
}

#define WITH_PROMPT(name)                                      \
	"[[{'type':'register','role':'a','credential_pool':1," \
	"'target_pool':5},{'type':'answer','role':'a','prompt':'" name "'}]]"

static void test_plan_prompt(void **state)
{
	json_t *errors = json_array();
	struct plan plan;

	(void)state;
	assert_int_equal(make(&plan, WITH_PROMPT("uploaded"), "[]", errors), 0);
	assert_int_equal(json_array_size(errors), 0);
	assert_int_equal(json_string_length(json_object_get(at(&plan, 0, 0, 1),
							    "prompt_sha256")),
			 64);
	assert_null(json_object_get(at(&plan, 0, 0, 0), "prompt_sha256"));
	plan_release(&plan);
	/* a file on the agents' hosts */
	assert_int_equal(make(&plan, WITH_PROMPT("local.wav"), "[]", errors),
			 0);
	assert_int_equal(json_array_size(errors), 0);
	assert_null(json_object_get(at(&plan, 0, 0, 1), "prompt_sha256"));
	plan_release(&plan);
	assert_int_equal(make(&plan, WITH_PROMPT("broken"), "[]", errors),
			 -EIO);
	plan_release(&plan);
	json_decref(errors);
}

/* A script plays the uploads that its placeholder names. */
static void test_plan_play_is_filled_in(void **state)
{
	static const char *const steps[] = {
		"[[{'type':'answer','role':'B','credential_pool':6}],"
		"[{'type':'call','role':'A','target_pool':5,"
		"'dial_destination':'1','max_total_calls':2,"
		"'sipclient_actions':[['play','{{B.username}}']]}]]",
		"[[{'type':'answer','role':'B'}],"
		"[{'type':'call','role':'A','target_pool':5,"
		"'dial_destination':'1','max_total_calls':2,"
		"'credential_pool':6,'sipclient_actions':[['play',"
		"'{{credential.username}}']]}]]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		json_t *errors = json_array();
		struct plan plan;
		json_t *hashes;

		assert_int_equal(make(&plan, steps[i], "[]", errors), 0);
		assert_int_equal(json_array_size(errors), 0);
		hashes = json_object_get(at(&plan, 1, 1, 0), "play_sha256");
		assert_int_equal(json_object_size(hashes), 1);
		assert_non_null(json_object_get(hashes, "uploaded"));
		plan_release(&plan);
		json_decref(errors);
	}
}

#define DIVIDED(agents, more)                                              \
	"[[{'type':'register','role':'A','credential_pool':2,"             \
	"'target_pool':5}],[{'type':'call','role':'A','target_pool':5,"    \
	"'dial_destination':'1','max_total_calls':4,'agents':" agents more \
	"}]]"

static void test_plan_shards(void **state)
{
	static const struct {
		const char *steps;
		uint32_t shards, least;
		const char *need; /* NULL: none */
	} rows[] = {
		{DIVIDED("1", ",'max_concurrent_calls':4"), 1, 1, NULL},
		{DIVIDED("2", ",'max_concurrent_calls':4"), 2, 2, "job=shards"},
		{DIVIDED("'1-2'",
			 ",'max_concurrent_calls':4,'allow_reduced':true"),
		 2, 1, "job=shards"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *errors = json_array(), *needs;
		struct plan plan;

		assert_int_equal(make(&plan, rows[i].steps, "[]", errors), 0);
		assert_int_equal(json_array_size(errors), 0);
		assert_int_equal(plan.roles[0].shards, rows[i].shards);
		assert_int_equal(plan.roles[0].agents_min, rows[i].least);
		assert_int_equal(plan.roles[0].allow_reduced, i == 2);
		needs = json_object_get(plan.roles[0].spec, "needs");
		if (rows[i].need)
			assert_string_equal(
				json_string_value(json_array_get(needs, 0)),
				rows[i].need);
		else
			assert_null(needs);
		plan_release(&plan);
		json_decref(errors);
	}
}

static void test_plan_shards_refused(void **state)
{
	static const struct {
		const char *steps, *pointer, *detail;
	} rows[] = {
		{DIVIDED("4", ",'max_concurrent_calls':4"),
		 "/step.0.0.credential_pool",
		 "the role A is divided over 4 shards: credential_pool has 2 "
		 "accounts, which cannot be divided evenly over 4: make it a "
		 "multiple of 4"},
		{DIVIDED("2", ""), "/step.1.0.max_concurrent_calls",
		 "the role A is divided over 2 shards: max_concurrent_calls 1 "
		 "cannot be divided over 2: raise it to at least 2, or divide "
		 "over fewer"},
		{"[[{'type':'wait','role':'A'}],[{'type':'wait','role':'A'},"
		 "{'type':'call','role':'A','target_pool':5,"
		 "'dial_destination':'1','agents':2,'max_total_calls':2,"
		 "'max_concurrent_calls':2}]]",
		 "/step.1.1.type", "put them into a step of their own"},
		{"[[{'type':'wait','role':'A'}],[{'type':'call','role':'A',"
		 "'target_pool':5,'dial_destination':'1','agents':2,"
		 "'max_total_calls':2,'max_concurrent_calls':2,"
		 "'credential_pool':1}]]",
		 "/step.1.0.credential_pool", "no account is in two"},
		{"[[{'type':'wait','role':'A'}],[{'type':'stream','role':'A',"
		 "'dial_destination':'192.0.2.1:4000','agents':2,"
		 "'max_total_calls':2,'local_port':4000}]]",
		 "/step.1.0.local_port", "leave it out"},
		{"[[{'type':'wait','role':'A','wait_calls':2},{'type':'answer',"
		 "'role':'B'}],[{'type':'call','role':'A','target_pool':5,"
		 "'dial_destination':'1','agents':2,'max_total_calls':2,"
		 "'max_concurrent_calls':2}]]",
		 "/step.0.0.wait_calls", "wait for a time"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *errors = json_array(), *error;
		struct plan plan;

		assert_int_equal(make(&plan, rows[i].steps, "[]", errors), 0);
		assert_int_equal(json_array_size(errors), 1);
		error = json_array_get(errors, 0);
		assert_string_equal(
			json_string_value(json_object_get(error, "pointer")),
			rows[i].pointer);
		if (!strstr(json_string_value(json_object_get(error, "detail")),
			    rows[i].detail))
			fail_msg("%s", json_string_value(json_object_get(
					       error, "detail")));
		plan_release(&plan);
		json_decref(errors);
	}
}

/* Only calls of several agents in the first step need a barrier before it: then all roles
 * have it, and agents that know it. */
static void test_plan_first_step_has_a_barrier(void **state)
{
	static const char step[] =
		"{'type':'call','role':'A','target_pool':5,'dial_destination':"
		"'1','agents':%s,'max_total_calls':2,'max_concurrent_calls':2}";
	static const struct {
		const char *before, *agents;
		bool barrier;
	} rows[] = {
		{"", "2", true},
		{"", "1", false},
		{"{'type':'wait','role':'A'}],[", "2", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *errors = json_array();
		struct plan plan;
		char call[256], steps[512];

		snprintf(call, sizeof(call), step, rows[i].agents);
		snprintf(steps, sizeof(steps),
			 "[[%s%s,{'type':'answer','role':'B'}]]",
			 rows[i].before, call);
		assert_int_equal(make(&plan, steps, "[]", errors), 0);
		assert_int_equal(json_array_size(errors), 0);
		assert_int_equal(plan.role_count, 2);
		for (size_t k = 0; k < 2; k++) {
			const json_t *spec = plan.roles[k].spec;

			assert_int_equal(json_is_true(json_object_get(
						 spec, "barrier_first")),
					 rows[i].barrier);
			assert_int_equal(
				json_array_size(json_object_get(spec, "needs")),
				rows[i].barrier || plan.roles[k].shards > 1);
		}
		plan_release(&plan);
		json_decref(errors);
	}
}

/* There are never more jobs than can be placed. */
static void test_plan_shards_have_a_ceiling(void **state)
{
	char steps[4096] = "[[{'type':'wait','role':'A'}],[";
	json_t *errors = json_array();
	struct plan plan;

	(void)state;
	for (int i = 0; i < 9; i++) {
		size_t used = strlen(steps);

		snprintf(steps + used, sizeof(steps) - used,
			 "%s{'type':'call','role':'%c','target_pool':5,"
			 "'dial_destination':'1','agents':8,'max_total_calls':"
			 "8,'max_concurrent_calls':8}",
			 i ? "," : "", 'A' + i);
	}
	strcat(steps, "]]");
	assert_int_equal(make(&plan, steps, "[]", errors), 0);
	assert_int_equal(json_array_size(errors), 1);
	assert_string_equal(
		json_string_value(
			json_object_get(json_array_get(errors, 0), "detail")),
		"the roles have 72 shards together, at most 64 are possible: "
		"lower agents");
	plan_release(&plan);
	json_decref(errors);
}

/* Each names an upload that is not a prompt. */
static void test_plan_application_is_no_prompt(void **state)
{
	static const struct {
		const char *member;
		const char *pointer;
	} cases[] = {
		{"'prompt':'softphone'", "/step.0.0.prompt"},
		{"'expect_prompt':'softphone'", "/step.0.0.expect_prompt"},
		{"'sipclient_actions':[['wait','1'],['play','softphone']]",
		 "/step.0.0.sipclient_actions/1/1"},
	};
	char steps[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *errors = json_array();
		const json_t *error;
		struct plan plan;

		snprintf(steps, sizeof(steps),
			 "[[{'type':'answer','role':'a',%s}]]",
			 cases[i].member);
		assert_int_equal(make(&plan, steps, "[]", errors), 0);
		assert_int_equal(json_array_size(errors), 1);
		error = json_array_get(errors, 0);
		assert_string_equal(
			json_string_value(json_object_get(error, "pointer")),
			cases[i].pointer);
		assert_non_null(strstr(
			json_string_value(json_object_get(error, "detail")),
			"PUT it with the kind prompt"));
		plan_release(&plan);
		json_decref(errors);
	}
}

static void test_plan_source_that_fails(void **state)
{
	json_t *errors = json_array();
	struct plan plan;

	(void)state;
	assert_int_equal(make(&plan,
			      "[[{'type':'register','role':'A',"
			      "'credential_pool':3,'target_pool':5}]]",
			      "[]", errors),
			 -EIO);
	plan_release(&plan);
	json_decref(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_single_call),
		cmocka_unit_test(test_plan_says_what_an_agent_needs),
		cmocka_unit_test(test_plan_records_sip_for_conditions),
		cmocka_unit_test(test_plan_mistakes),
		cmocka_unit_test(test_plan_prompt),
		cmocka_unit_test(test_plan_play_is_filled_in),
		cmocka_unit_test(test_plan_application_is_no_prompt),
		cmocka_unit_test(test_plan_shards),
		cmocka_unit_test(test_plan_shards_refused),
		cmocka_unit_test(test_plan_first_step_has_a_barrier),
		cmocka_unit_test(test_plan_shards_have_a_ceiling),
		cmocka_unit_test(test_plan_source_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
