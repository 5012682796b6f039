/* Histories of flaky tests: planted causes are named, random failures are not. */
#include "control/server/flakiness/flaky_cause.h"
#include "control/server/flakiness/flaky_history.h"
#include "tests/unit/analysis/random.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_MS 3600000LL
/* 2026-11-01 00:00:00 UTC */
#define BEGIN_MS 1793491200000LL

/* ---- written histories ---- */

static struct flaky_history *new_history(void)
{
	struct flaky_history *h = NULL;

	assert_int_equal(flaky_history_new(&h), 0);
	return h;
}

static void add_run(struct flaky_history *h, bool failed, unsigned hour)
{
	assert_int_equal(
		flaky_history_add_run(h, failed, BEGIN_MS + hour * HOUR_MS), 0);
}

static void add(struct flaky_history *h, enum flaky_attribute attribute,
		const char *role, const char *value)
{
	assert_int_equal(flaky_history_add(h, attribute, role, value), 0);
}

static json_t *cause_of(struct flaky_history *h)
{
	json_t *cause = NULL;

	assert_int_equal(flaky_cause(h, &cause), 0);
	flaky_history_free(h);
	return cause;
}

static const char *sentence_of(const json_t *cause)
{
	const char *text =
		json_string_value(json_object_get(cause, "sentence"));

	return text ? text : "";
}

/* Runs of one agent each: `fails` of lab2 and `passes` of lab2, the other ones
 * of lab1; all in the same hour. */
static struct flaky_history *agents(unsigned failed, unsigned failed_lab2,
				    unsigned passed, unsigned passed_lab2)
{
	struct flaky_history *h = new_history();

	for (unsigned i = 0; i < failed; i++) {
		add_run(h, true, 24 * i);
		add(h, FLAKY_AGENT, "caller",
		    i < failed_lab2 ? "lab2" : "lab1");
	}
	for (unsigned i = 0; i < passed; i++) {
		add_run(h, false, 24 * i);
		add(h, FLAKY_AGENT, "caller",
		    i < passed_lab2 ? "lab2" : "lab1");
	}
	return h;
}

static void test_cause_has_figures(void **state)
{
	json_t *cause = cause_of(agents(5, 5, 12, 1)), *entry;

	(void)state;
	assert_string_equal(sentence_of(cause),
			    "5 of 5 failed runs had agent lab2, 1 of 12 "
			    "passed runs had.");
	assert_int_equal(json_array_size(json_object_get(cause, "common")), 1);
	entry = json_array_get(json_object_get(cause, "common"), 0);
	assert_string_equal(
		json_string_value(json_object_get(entry, "attribute")),
		"agent");
	assert_string_equal(json_string_value(json_object_get(entry, "value")),
			    "lab2");
	assert_true(json_is_null(json_object_get(entry, "role")));
	assert_int_equal(
		json_integer_value(json_object_get(entry, "passed_of")), 12);
	/* Fisher: all 5 failed ones among the 6 of lab2, C(6, 5) / C(17, 5) */
	assert_float_equal(json_real_value(json_object_get(entry, "p")),
			   6.0 / 6188, 1e-12);
	json_decref(cause);
}

/* Fisher's tea test, 3 of 4 against 1 of 4, has p = 17/70 on one side. */
static void test_cause_needs_support(void **state)
{
	static const unsigned unsupported[][4] = {
		{4, 3, 4, 1},  /* 17/70 */
		{3, 2, 18, 1}, /* 54/1330 */
		{1, 1, 20, 0}, /* 1/21 */
		{10, 7, 11, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(*unsupported);
	     i++) {
		const unsigned *n = unsupported[i];
		json_t *cause = cause_of(agents(n[0], n[1], n[2], n[3]));

		assert_string_equal(sentence_of(cause), "");
		json_decref(cause);
	}
}

/* What is rarer among failed runs is not what they have in common. */
static void test_cause_is_on_the_failed_side(void **state)
{
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 21; i++) {
		add_run(h, i < 8, 24 * i);
		add(h, FLAKY_SOFTWARE, "caller", "proxy");
		if (i >= 8)
			add(h, FLAKY_SOFTWARE, "caller", "phone");
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
}

static void test_cause_without_a_passed_or_failed_run(void **state)
{
	json_t *cause;

	(void)state;
	cause = cause_of(new_history());
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
	cause = cause_of(agents(9, 5, 0, 0));
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
	cause = cause_of(agents(0, 0, 21, 3));
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
}

/* Of the same runs nobody can tell which is the cause. */
static void test_cause_names_attributes_of_the_same_runs(void **state)
{
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 18; i++) {
		bool bad = i % 3 == 0;

		add_run(h, bad, 24 * i);
		add(h, FLAKY_AGENT, "caller", bad ? "lab2" : "lab1");
		add(h, FLAKY_CODEC, "caller", bad ? "PCMA" : "PCMU");
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause),
			    "6 of 6 failed runs had agent lab2 and codec PCMA, "
			    "0 of 12 passed runs had.");
	json_decref(cause);
}

static void test_cause_is_of_one_role(void **state)
{
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		add_run(h, i % 4 == 0, 24 * i);
		add(h, FLAKY_AGENT, "caller", i % 4 == 0 ? "lab2" : "lab1");
		add(h, FLAKY_AGENT, "callee", i % 2 ? "lab2" : "lab1");
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause),
			    "5 of 5 failed runs had agent lab2 in role caller, "
			    "0 of 15 passed runs had.");
	json_decref(cause);
}

/* Calls that were not set up have no codec. */
static void test_cause_counts_known_values_only(void **state)
{
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 21; i++) {
		bool bad = i % 3 == 0;

		add_run(h, bad, 24 * i);
		if (i != 0)
			add(h, FLAKY_CODEC, "caller", bad ? "PCMA" : "PCMU");
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause),
			    "6 of 6 failed runs had codec PCMA, 0 of 14 passed "
			    "runs had (not known of 1 run).");
	json_decref(cause);
}

/* A failure of one night is not one of that hour of the day. */
static void test_hour_is_of_several_days(void **state)
{
	struct flaky_history *one = new_history(), *several = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		add_run(one, i >= 4 && i < 10, i);
	cause = cause_of(one);
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
	for (unsigned i = 0; i < 20; i++)
		add_run(several, i % 4 == 0, 6 * i + 23);
	cause = cause_of(several);
	assert_string_equal(sentence_of(cause),
			    "5 of 5 failed runs started in the hours 23:00 to "
			    "24:00 UTC, 0 of 15 passed runs did.");
	json_decref(cause);
}

/* ---- facts of messages and calls ---- */

static void test_facts_are_of_messages_and_calls(void **state)
{
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 18; i++) {
		bool bad = i % 3 == 0;
		char port[8], text[160];
		json_t *message, *call;

		add_run(h, bad, 24 * i);
		/* the peer's port is another one each time */
		snprintf(port, sizeof(port), "%u", 40000 + i);
		snprintf(text, sizeof(text),
			 "SIP/2.0 200 OK\r\nCSeq: 1 INVITE\r\nServer: pbx%s "
			 "\"\x01\"\r\n\r\n",
			 bad ? " 2" : "");
		message = json_pack(
			"{s:s, s:s+, s:s}", "dir", "received", "peer",
			bad ? "192.0.2.2:" : "192.0.2.1:", port, "data", text);
		call = json_pack("{s:[{s:s, s:i}, {s:s, s:i}]}", "streams",
				 "codec", bad ? "G722" : "PCMU", "packets", 9,
				 "codec", bad ? "PCMU" : "G722", "packets", 0);
		assert_int_equal(
			flaky_history_add_message(h, "caller", message), 0);
		assert_int_equal(flaky_history_add_call(h, "caller", call), 0);
		json_decref(message);
		json_decref(call);
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause),
			    "6 of 6 failed runs had peer software pbx 2 \"?\" "
			    "and peer address 192.0.2.2 and codec G722, 0 of "
			    "12 passed runs had.");
	json_decref(cause);
}

static void test_facts_of_what_we_sent_or_cannot_read(void **state)
{
	static const char server[] = "SIP/2.0 200 OK\r\nServer: a\r\n\r\n";
	struct flaky_history *h = new_history();
	json_t *cause;

	(void)state;
	for (unsigned i = 0; i < 18; i++) {
		json_t *sent =
			json_pack("{s:s, s:s, s:s}", "dir", "sent", "peer",
				  "192.0.2.1:5060", "data", server);
		json_t *binary = json_pack(
			"{s:s, s:s, s:s, s:s}", "dir", "received", "encoding",
			"base64", "peer", "192.0.2.1:5060", "data", server);

		add_run(h, i % 3 == 0, 24 * i);
		if (i % 3 == 0) {
			assert_int_equal(
				flaky_history_add_message(h, "caller", sent),
				0);
			assert_int_equal(
				flaky_history_add_message(h, "caller", binary),
				0);
		}
		json_decref(sent);
		json_decref(binary);
	}
	cause = cause_of(h);
	assert_string_equal(sentence_of(cause), "");
	json_decref(cause);
}

/* A load test has too many peers to tell by them; the other attributes stay. */
static void test_too_many_values_are_not_known(void **state)
{
	struct flaky_history *h = new_history();
	char longest[300], peer[32];
	json_t *cause;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (unsigned i = 0; i < 18; i++) {
		add_run(h, i % 3 == 0, 24 * i);
		add(h, FLAKY_SOFTWARE, "caller", i % 3 ? "short" : longest);
		for (unsigned k = 0; i % 3 == 0 && k <= FLAKY_VALUES_MAX; k++) {
			snprintf(peer, sizeof(peer), "192.0.2.%u", k);
			add(h, FLAKY_PEER, "caller", peer);
		}
		if (i % 3)
			add(h, FLAKY_PEER, "caller", "192.0.2.200");
	}
	cause = cause_of(h);
	assert_int_equal(json_array_size(json_object_get(cause, "common")), 1);
	assert_non_null(strstr(sentence_of(cause), "had peer software xxx"));
	json_decref(cause);
}

static void test_more_runs_than_a_history(void **state)
{
	struct flaky_history *h = agents(5, 5, 16, 0);

	(void)state;
	assert_int_equal(flaky_history_add_run(h, true, 0), -ENOSPC);
	json_decref(cause_of(h));
}

/* ---- generated histories ---- */

/* What the runs of a generated test are made of, and when they fail. */
struct plan {
	unsigned agents, peers, versions, codecs; /* drawn for each run */
	unsigned roles;
	unsigned every_h; /* hours between runs, with as much jitter; 0: at one
			   * time of the day */
	double fails;     /* share of failed runs with the cause; or of all */
	double otherwise; /* share of failed runs without it */
	enum flaky_attribute cause;
	const char *named;    /* part of the sentence; NULL: fails at random */
	unsigned from, hours; /* of the cause FLAKY_HOUR */
};

/* The cause is value 0 of its attribute, of the first role. */
static const struct plan planted[] = {
	{3, 2, 2, 1, 1, 5, 1, 0, FLAKY_AGENT, "agent lab0", 0, 0},
	{3, 1, 1, 1, 2, 5, 1, 0, FLAKY_AGENT, "agent lab0 in role caller", 0,
	 0},
	{2, 4, 1, 2, 1, 5, 1, 0, FLAKY_PEER, "peer address 192.0.2.0", 0, 0},
	{1, 3, 3, 1, 2, 0, 1, 0, FLAKY_PEER, "peer address 192.0.2.0", 0, 0},
	{2, 1, 3, 2, 1, 5, 1, 0, FLAKY_SOFTWARE, "peer software pbx 0", 0, 0},
	{3, 2, 2, 3, 1, 7, 1, 0, FLAKY_CODEC, "codec codec0", 0, 0},
	{1, 1, 1, 1, 1, 5, 1, 0, FLAKY_HOUR, "started in the hours", 1, 6},
	{2, 1, 1, 1, 1, 5, 1, 0, FLAKY_HOUR, "started in the hours", 21, 8},
	{3, 1, 1, 1, 1, 0, 0.9, 0.03, FLAKY_AGENT, "agent lab0", 0, 0},
	{2, 2, 1, 2, 1, 0, 0.9, 0.03, FLAKY_PEER, "peer address 192.0.2.0", 0,
	 0},
};

#define PLANTED (sizeof(planted) / sizeof(*planted))

/* Draw one run. @return it failed */
static bool draw_run(struct flaky_history *h, const struct plan *p,
		     uint64_t *seed, unsigned hour)
{
	static const char *const roles[] = {"caller", "callee"};
	static const char *const prefixes[FLAKY_VALUED] = {
		[FLAKY_AGENT] = "lab",
		[FLAKY_SOFTWARE] = "pbx ",
		[FLAKY_PEER] = "192.0.2.",
		[FLAKY_CODEC] = "codec",
	};
	const unsigned of[FLAKY_VALUED] = {
		[FLAKY_AGENT] = p->agents,
		[FLAKY_SOFTWARE] = p->versions,
		[FLAKY_PEER] = p->peers,
		[FLAKY_CODEC] = p->codecs,
	};
	unsigned drawn[2][FLAKY_VALUED];
	bool has, failed;

	for (size_t role = 0; role < 2; role++)
		for (enum flaky_attribute a = 0; a < FLAKY_VALUED; a++)
			drawn[role][a] = random_below(seed, of[a]);
	if (p->cause == FLAKY_HOUR)
		has = (hour % 24 + 24 - p->from) % 24 < p->hours;
	else
		has = drawn[0][p->cause] == 0;
	failed = random_unit(seed) <
		 (has || !p->named ? p->fails : p->otherwise);
	add_run(h, failed, hour);
	for (size_t role = 0; role < p->roles; role++)
		for (enum flaky_attribute a = 0; a < FLAKY_VALUED; a++) {
			char value[40];

			snprintf(value, sizeof(value), "%s%u", prefixes[a],
				 drawn[role][a]);
			add(h, a, roles[role], value);
		}
	return failed;
}

/* Draw the last runs of a test until they make it flaky. */
static struct flaky_history *draw_flaky(const struct plan *p, uint64_t *seed)
{
	for (;;) {
		struct flaky_history *h = new_history();
		unsigned changes = 0, hour = 13;
		bool before = false;

		for (unsigned i = 0; i < FLAKY_RUNS_MAX; i++) {
			bool failed = draw_run(h, p, seed, hour);

			changes += i && failed != before;
			before = failed;
			hour += p->every_h ? p->every_h + random_below(seed, 5)
					   : 24;
		}
		if (changes >= 2)
			return h;
		flaky_history_free(h);
	}
}

/* Ten causes, each in twenty tests: nine of ten are named, and one of ten that
 * is not named by itself has no wrong one. */
static void test_planted_causes_are_named(void **state)
{
	unsigned first = 0, named = 0, wrong = 0;

	(void)state;
	for (size_t i = 0; i < PLANTED; i++) {
		uint64_t seed = 20261128 + i;
		unsigned own = 0;

		for (unsigned k = 0; k < 20; k++) {
			json_t *cause =
				cause_of(draw_flaky(&planted[i], &seed));
			const char *text = sentence_of(cause);
			bool is_right = strstr(text, planted[i].named) != NULL;

			first += k == 0 && is_right;
			own += is_right;
			wrong += !is_right && text[0];
			json_decref(cause);
		}
		print_message("cause %zu (%s): named in %u of 20\n", i,
			      planted[i].named, own);
		named += own;
	}
	assert_true(first >= 9);
	assert_true(named >= 180);
	assert_true(wrong <= 2);
}

/* Twenty tests that fail at random, each with 200 histories. */
static void test_random_failures_have_no_cause(void **state)
{
	unsigned first = 0, named = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct plan p = planted[i % PLANTED];
		uint64_t seed = 1128 + i;

		p.named = NULL;
		p.fails = 0.1 + 0.025 * i;
		for (unsigned k = 0; k < 200; k++) {
			json_t *cause = cause_of(draw_flaky(&p, &seed));

			first += k == 0 && sentence_of(cause)[0];
			named += sentence_of(cause)[0] != '\0';
			json_decref(cause);
		}
	}
	print_message("of 4000 tests that fail at random %u were named a "
		      "cause\n",
		      named);
	assert_int_equal(first, 0);
	assert_true(named <= 4000 * FLAKY_LEVEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cause_has_figures),
		cmocka_unit_test(test_cause_needs_support),
		cmocka_unit_test(test_cause_is_on_the_failed_side),
		cmocka_unit_test(test_cause_without_a_passed_or_failed_run),
		cmocka_unit_test(test_cause_names_attributes_of_the_same_runs),
		cmocka_unit_test(test_cause_is_of_one_role),
		cmocka_unit_test(test_cause_counts_known_values_only),
		cmocka_unit_test(test_hour_is_of_several_days),
		cmocka_unit_test(test_facts_are_of_messages_and_calls),
		cmocka_unit_test(test_facts_of_what_we_sent_or_cannot_read),
		cmocka_unit_test(test_too_many_values_are_not_known),
		cmocka_unit_test(test_more_runs_than_a_history),
		cmocka_unit_test(test_planted_causes_are_named),
		cmocka_unit_test(test_random_failures_have_no_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
