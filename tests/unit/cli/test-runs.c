#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/ladder.h"
#include "control/cli/run/run_compare.h"
#include "control/cli/run/run_list.h"
#include "control/cli/run/run_stats.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TERMINAL 80

static json_t *parsed(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!value)
		fail_msg("no JSON: %s", text);
	return value;
}

/* Print with one of the functions of tables and ladders. */
static char *printed(void (*print)(FILE *out, const json_t *value,
				   size_t width),
		     const json_t *value, size_t width)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out, value, width);
	fclose(out);
	return text;
}

static void assert_fits(const char *text, size_t width)
{
	char line[4096];

	while (*text) {
		size_t len = strcspn(text, "\n");

		assert_true(len < sizeof(line));
		memcpy(line, text, len);
		line[len] = '\0';
		if (terminal_columns(line) > width)
			fail_msg("too wide: %s", line);
		text += len + (text[len] == '\n');
	}
}

/* ---- tables ---- */

static void print_table(FILE *out, const json_t *rows, size_t width)
{
	static const struct table_column columns[] = {
		{"name", false}, {"n", true}, {"text", false}};

	table_print(out, columns, 3, rows, width);
}

static void test_a_table_is_whole_in_a_pipe_and_cut_on_a_terminal(void **state)
{
	json_t *rows = parsed("[[\"f\\u00fcnf\", \"12\", \"some longer text\"],"
			      " [\"\\u001b[2J\", null, \"x\"]]");
	char *text = printed(print_table, rows, 0);

	(void)state;
	assert_string_equal(text, "name   n  text\n"
				  "f\xc3\xbcnf  12  some longer text\n"
				  "?[2J   -  x\n");
	free(text);
	text = printed(print_table, rows, 18);
	assert_string_equal(text, "name   n  text\n"
				  "f\xc3\xbcnf  12  some lo\xe2\x80\xa6\n"
				  "?[2J   -  x\n");
	free(text);
	/* nothing is narrower than three columns */
	text = printed(print_table, rows, 1);
	assert_string_equal(text, "na\xe2\x80\xa6   n  te\xe2\x80\xa6\n"
				  "f\xc3\xbc\xe2\x80\xa6  12  so\xe2\x80\xa6\n"
				  "?[\xe2\x80\xa6   -  x\n");
	free(text);
	json_decref(rows);
}

static void print_wrapped(FILE *out, const json_t *text, size_t width)
{
	table_wrap(out, json_string_value(text), 4, 2, width);
}

static void test_text_is_broken_at_spaces(void **state)
{
	static const struct {
		const char *text, *printed;
		size_t width;
	} cases[] = {
		{"one two three", "one two three\n", 0},
		{"one two three", "one two\n  three\n", 12},
		{"a-word-that-is-too-long b",
		 "\n  a-word-that-is-too-long\n  b\n", 10},
		{"", "\n", 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *value = json_string(cases[i].text);
		char *text = printed(print_wrapped, value, cases[i].width);

		assert_string_equal(text, cases[i].printed);
		free(text);
		json_decref(value);
	}
}

/* ---- lists ---- */

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t s; /* -1: refused */
	} cases[] = {
		{"1970-01-02", 86400},
		{"1970-01-02 01:00", 90000},
		{"1970-01-02 01:00:01", 90001},
		{"90m", 1000000 - 5400},
		{"12h", 1000000 - 43200},
		{"7d", 1000000 - 604800},
		{"100d", 0},
		{"77", 77},
		{"0", 0},
		{"", -1},
		{"d", -1},
		{"-1d", -1},
		{"1w", -1},
		{"1970-13-01", -1},
		{"1969-12-31", -1},
		{"99999999999999999999d", -1},
		{"1970-01-02 01", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t s = -1;
		int err = run_list_time(cases[i].text, 1000000, &s);

		if (err != (cases[i].s < 0 ? -EINVAL : 0) || s != cases[i].s)
			fail_msg("%s: %d, %lld", cases[i].text, err,
				 (long long)s);
	}
}

static void test_list_of_runs(void **state)
{
	json_t *runs = parsed(
		"[{\"id\":7,\"status\":\"failed\",\"test_name\":\"\","
		"\"testcase_name\":\"single-call\",\"project_name\":\"Office\","
		"\"started_at\":\"2026-01-31 23:59:00\","
		"\"stopped_at\":\"2026-02-01 00:02:05\","
		"\"result_description\":\"a sentence that is longer than what "
		"is left of a line of 80 columns\"},"
		"{\"id\":6,\"started_at\":null}]");
	char *text = printed(run_list_print, runs, 0);

	(void)state;
	assert_non_null(strstr(text, " 7  failed  single-call  Office   "
				     "2026-01-31 23:59:00  3:05  a sentence"));
	assert_non_null(strstr(text, "of 80 columns\n"));
	free(text);
	text = printed(run_list_print, runs, TERMINAL);
	assert_fits(text, TERMINAL);
	assert_non_null(strstr(text, "\xe2\x80\xa6\n"));
	free(text);
	json_decref(runs);
}

/* ---- ladders ---- */

#define MESSAGE(ms, role, dir, peer, line, headers)                       \
	"{\"t_ms\":" ms ",\"role\":\"" role "\",\"dir\":\"" dir           \
	"\",\"peer\":\"" peer "\",\"line\":\"" line "\",\"text\":\"" line \
	"\\r\\n" headers "\\r\\n\\r\\nCall-ID: in-the-body\"}"
#define CALL(ms, id, answer)                                              \
	MESSAGE(ms ".5", "caller", "sent", "p:1", "INVITE sip:a SIP/2.0", \
		"i: " id "\\r\\nCSeq: 1 INVITE\\r\\nc : application/sdp") \
	"," MESSAGE(ms ".6", "callee", "received", "p:2",                 \
		    "INVITE sip:b SIP/2.0",                               \
		    "call-id:" id                                         \
		    "\\r\\nCSeq:1 INVITE") "," MESSAGE(ms ".7", "caller", \
						       "received", "p:1", \
						       "SIP/2.0 " answer, \
						       "Call-ID: " id     \
						       "\\r\\nCSeq: 1 INVITE")

static void test_equal_calls_are_folded(void **state)
{
	json_t *messages = parsed("[" CALL("0", "x@h", "200 OK") "," CALL(
		"10", "y@h", "486 Busy Here") "," CALL("20", "z@h",
						       "200 OK") "]");
	json_t *folded = ladder_fold(messages);
	char *text;

	(void)state;
	assert_int_equal(json_array_size(folded), 2);
	text = printed(ladder_print, folded, TERMINAL);
	assert_string_equal(
		text,
		"Call-ID x@h\n"
		"2 dialogs with these messages; the times are of this one\n"
		"       ms  caller           p:1              p:2              "
		"callee\n"
		"      0.5  |- INVITE (SDP) >|                |                "
		"|\n"
		"      0.6  |                |                |---- INVITE --->"
		"|\n"
		"      0.7  |<--- 200 OK ----|                |                "
		"|\n"
		"\n"
		"Call-ID y@h\n"
		"       ms  caller           p:1              p:2              "
		"callee\n"
		"     10.5  |- INVITE (SDP) >|                |                "
		"|\n"
		"     10.6  |                |                |---- INVITE --->"
		"|\n"
		"     10.7  |< 486 Busy Her -|                |                "
		"|\n");
	assert_fits(text, TERMINAL);
	free(text);
	/* in a pipe nothing is cut */
	text = printed(ladder_print, folded, 0);
	assert_non_null(strstr(text, " 486 Busy Here (INVITE) -"));
	free(text);
	/* too narrow for columns: a list */
	text = printed(ladder_print, folded, 40);
	assert_non_null(strstr(text, "10.7  p:1 -> caller: 486 Busy Here "
				     "(INVITE)\n"));
	free(text);
	json_decref(folded);
	json_decref(messages);
}

static void test_hostile_messages(void **state)
{
	static const char *const cases[] = {
		"[]",
		"[{}]",
		"[null, 7, [], \"x\"]",
		"[{\"t_ms\":1e300,\"role\":\"\\u001b[2J\",\"dir\":7,"
		"\"peer\":\"\\u00fc\",\"line\":\"SIP/2.0 \",\"text\":\"\\n\"}]",
		"[{\"role\":\"a\",\"peer\":\"a\",\"line\":\"x SIP/2.0\"}]",
		"[{\"line\":\"SIP/2.0 200 OK\",\"text\":\"\\nCSeq\\nCSeq: "
		"1\\nCSeq:\"}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *messages = parsed(cases[i]);
		json_t *folded = ladder_fold(messages);

		assert_non_null(folded);
		for (size_t width = 0; width < 200; width += 7) {
			char *text = printed(ladder_print, folded, width);

			assert_null(strchr(text, '\x1b'));
			free(text);
		}
		json_decref(folded);
		json_decref(messages);
	}
}

/* ---- figures and differences ---- */

static void test_numbers(void **state)
{
	static const struct {
		const char *value, *text;
	} cases[] = {{"1.5", "1.5"},  {"2.0", "2"}, {"100.0", "100"},
		     {"0.0004", "0"}, {"7", "7"},   {"-1.25", "-1.25"},
		     {"null", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *value = parsed(cases[i].value);
		json_t *text = run_stats_number(value);

		if (cases[i].text)
			assert_string_equal(json_string_value(text),
					    cases[i].text);
		else
			assert_true(json_is_null(text));
		json_decref(text);
		json_decref(value);
	}
}

static void test_intervals_are_summed_up_by_their_samples(void **state)
{
	json_t *report = parsed(
		"{\"series\":[{\"role\":\"caller\",\"dir\":\"in\",\"measure\":"
		"\"rtp_mos\",\"unit\":\"\",\"points\":[{\"t\":1,\"n\":1,"
		"\"min\":1,\"avg\":1,\"max\":1},{\"t\":2,\"n\":3,\"min\":2,"
		"\"avg\":3,\"max\":4},{\"t\":3,\"n\":0,\"min\":null,\"avg\":"
		"null,\"max\":null}]},{\"measure\":\"none\",\"points\":[]}]}");
	json_t *sums = run_stats_sum(report);
	json_t *measures = json_object_get(sums, "measures");
	char *text = printed(run_stats_print, sums, TERMINAL);

	(void)state;
	assert_int_equal(json_array_size(measures), 1);
	assert_non_null(strstr(text, "rtp_mos  caller  in               4    1"
				     "   2.5    4\n"));
	free(text);
	json_decref(sums);
	json_decref(report);
}

#define BOUNDED(id, avg, bound)                                     \
	"{\"run\":{\"id\":" id "},\"calls\":[{\"role\":\"caller\"," \
	"\"established\":true,\"streams\":[{\"dir\":\"in\","        \
	"\"jitter_ms\":{\"avg\":" avg "}" bound "}]}]}"

/* Compare two runs: how the printed line says that the jitter changed. */
static void jitter_changed(const char *before, const char *after,
			   const char *line, const char *within)
{
	json_t *a = parsed(before), *b = parsed(after);
	json_t *d = run_compare(a, b);
	json_t *figure = json_array_get(
		json_object_get(d, "figures"),
		json_array_size(json_object_get(d, "figures")) - 1);
	char *text = printed(run_compare_print, d, TERMINAL);
	char *member = json_dumps(json_object_get(figure, "within_bounds"),
				  JSON_ENCODE_ANY);

	if (!strstr(text, line))
		fail_msg("no %s in\n%s", line, text);
	assert_string_equal(member ? member : "absent", within);
	free(member);
	free(text);
	json_decref(d);
	json_decref(a);
	json_decref(b);
}

static void test_a_change_within_the_error_bounds_is_none(void **state)
{
	const char *before = BOUNDED("1", "1.8", ",\"jitter_bound_ms\":0.05");

	(void)state;
	jitter_changed(before,
		       BOUNDED("2", "1.84", ",\"jitter_bound_ms\":0.011"),
		       "1.8 ± 0.05  1.84 ± 0.02  within bounds\n", "true");
	jitter_changed(before,
		       BOUNDED("2", "1.9", ",\"jitter_bound_ms\":0.011"),
		       "1.8 ± 0.05  1.9 ± 0.02     0.1\n", "false");
	jitter_changed(before, BOUNDED("2", "1.81", ""),
		       "1.8 ± 0.05   1.81    0.01\n", "absent");
}

#define VERDICT(text, passed, actual)                                   \
	"{\"role\":\"callee\",\"text\":\"" text "\",\"passed\":" passed \
	",\"expected\":\"at least 4\",\"actual\":\"" actual "\"}"

static void test_what_differs_between_two_runs(void **state)
{
	json_t *before = parsed(
		"{\"run\":{\"id\":1,\"status\":\"passed\",\"test_name\":\"t\"},"
		"\"verdicts\":[" VERDICT("MOS", "true", "4.4") "," VERDICT(
			"same", "true",
			"5") "," VERDICT("gone", "true",
					 "6") "],"
					      "\"calls\":[{\"role\":\"caller\",\"established\":true,"
					      "\"pdd_ms\":100}],\"messages\":[" CALL(
						      "0", "a", "200 OK") "]}");
	json_t *after = parsed(
		"{\"run\":{\"id\":2,\"status\":\"failed\",\"test_name\":\"t\"},"
		"\"verdicts\":[" VERDICT("same", "true", "5") "," VERDICT(
			"MOS", "false",
			"3.1") "," VERDICT("new", "false",
					   "7") "],"
						"\"calls\":[{\"role\":\"caller\",\"established\":false,"
						"\"pdd_ms\":150.5}],\"messages\":[" CALL(
							"0", "b",
							"503 Full") "]}");
	json_t *d = run_compare(before, after);
	char *text = printed(run_compare_print, d, TERMINAL);

	(void)state;
	assert_non_null(strstr(text, "- run 1 of t: passed\n"
				     "+ run 2 of t: failed\n"));
	assert_non_null(strstr(text,
			       "Conditions: 3 differ, 1 are alike\n"
			       "callee: MOS\n"
			       "  - passed, expected at least 4, was 4.4\n"
			       "  + failed, expected at least 4, was 3.1\n"
			       "callee: gone\n"
			       "  - passed, expected at least 4, was 6\n"
			       "  + no such condition\n"
			       "callee: new\n"
			       "  - no such condition\n"));
	assert_non_null(strstr(
		text, "caller  post-dial delay, mean ms        100  150.5    "
		      "50.5\n"));
	assert_non_null(strstr(text, "Dialogs with these messages: 1 before, "
				     "1 after\n"
				     "  caller -> INVITE (SDP)\n"
				     "  callee <- INVITE\n"
				     "- caller <- 200 OK (INVITE)\n"
				     "+ caller <- 503 Full (INVITE)\n"));
	assert_fits(text, TERMINAL);
	assert_false(run_compare_alike(d));
	free(text);
	json_decref(d);
	d = run_compare(before, before);
	assert_true(run_compare_alike(d));
	assert_int_equal(json_array_size(json_object_get(d, "conditions")), 0);
	assert_int_equal(json_array_size(json_object_get(d, "messages")), 0);
	assert_int_equal(
		json_integer_value(json_object_get(d, "dialogs_alike")), 1);
	json_decref(d);
	json_decref(before);
	json_decref(after);
}

static void test_outcomes_that_count(void **state)
{
	static const struct {
		const char *before, *after; /* status and verdicts */
		bool alike;
	} cases[] = {
		{"[\"passed\",[]]", "[\"passed\",[]]", true},
		{"[\"errored\",[]]", "[\"stopped\",[]]", false},
		{"[\"passed\",[" VERDICT("MOS", "true", "4.4") "]]",
		 "[\"passed\",[" VERDICT("MOS", "true", "4.1") "]]", true},
		{"[\"failed\",[" VERDICT("MOS", "false", "2") "]]",
		 "[\"failed\",[" VERDICT("MOS", "false", "3") "]]", true},
		{"[\"failed\",[" VERDICT("a", "false", "2") "," VERDICT(
			 "b", "true", "2") "]]",
		 "[\"failed\",[" VERDICT("a", "true", "2") "," VERDICT(
			 "b", "false", "2") "]]",
		 false},
		{"[\"passed\",[]]",
		 "[\"passed\",[" VERDICT("MOS", "true", "4.1") "]]", false},
		{"[\"passed\",[" VERDICT("MOS", "true", "4.1") "]]",
		 "[\"passed\",[]]", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *reports[2], *d;
		const char *const texts[] = {cases[i].before, cases[i].after};

		for (size_t k = 0; k < 2; k++) {
			json_t *pair = parsed(texts[k]);

			reports[k] =
				json_pack("{s:{s:O}, s:O}", "run", "status",
					  json_array_get(pair, 0), "verdicts",
					  json_array_get(pair, 1));
			json_decref(pair);
		}
		d = run_compare(reports[0], reports[1]);
		assert_int_equal(run_compare_alike(d), cases[i].alike);
		assert_int_equal(json_is_true(json_object_get(d, "alike")),
				 cases[i].alike);
		json_decref(d);
		json_decref(reports[0]);
		json_decref(reports[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_table_is_whole_in_a_pipe_and_cut_on_a_terminal),
		cmocka_unit_test(test_text_is_broken_at_spaces),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_list_of_runs),
		cmocka_unit_test(test_equal_calls_are_folded),
		cmocka_unit_test(test_hostile_messages),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_intervals_are_summed_up_by_their_samples),
		cmocka_unit_test(test_what_differs_between_two_runs),
		cmocka_unit_test(test_a_change_within_the_error_bounds_is_none),
		cmocka_unit_test(test_outcomes_that_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
