/* Reports of runs: fragments of each format, hostile texts, ceilings. */
#include "base/buf.h"
#include "control/render/figures.h"
#include "control/render/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char run_of[] =
	"{'run': {'status': '%s', 'session_id': 's-1', 'test_name': '%s',"
	" 'project_name': 'a.b', 'started_at': '2026-01-02 03:04:05',"
	" 'stopped_at': '2026-01-02 03:04:15', 'attempt': 2,"
	" 'report_url': 'http://c/run/details/s-1',"
	" 'result_description': '%s'},"
	" 'verdicts': [{'role': 'r', 'condition_type': 'r-mos-conditions',"
	" 'text': 'MOS', 'passed': false, 'expected': 'at least 4.9',"
	" 'actual': '4.4', 'call': 'r-1', 'sentence': 'MOS was 4.4'},"
	" {'text': 'holds', 'passed': true, 'expected': '1', 'actual': '1'},"
	" {'text': 'holds', 'passed': true, 'expected': '1', 'actual': '1'}],"
	" 'calls': [{'role': 'r', 'call': 'r-1', 'established': true,"
	" 'expected_end': true, 'pdd_ms': 12.5, 'streams': [{'dir': 'in',"
	" 'mos_total': 4.4, 'mos_scale': 'nb', 'loss_pct': 0.5}]}],"
	" 'series': [{'role': 'r', 'dir': 'in', 'measure': 'rtp_mos',"
	" 'unit': '1..5', 'points': [{'t': 10, 'avg': 4.0},"
	" {'t': 11, 'avg': 5.0}]}],"
	" 'messages': [{'t_ms': 1.5, 'role': 'r', 'dir': 'sent',"
	" 'peer': '192.0.2.1', 'line': 'INVITE', 'text': '%s'}]}";

static json_t *report_of(const char *status, const char *name,
			 const char *result, const char *message)
{
	char text[4096];
	json_t *report;

	assert_true(snprintf(text, sizeof(text), run_of, status, name, result,
			     message) < (int)sizeof(text));
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	report = json_loads(text, 0, NULL);
	assert_non_null(report);
	return report;
}

static int render_one(enum render_format format, struct buf *out,
		      const json_t *report)
{
	struct render r;
	int err = render_begin(&r, format, out, NULL);

	if (!err)
		err = render_run(&r, report);
	return err ? err : render_end(&r);
}

/* @return the document; freed by the caller */
static char *rendered(enum render_format format, json_t *report, size_t ceiling)
{
	struct buf out;

	buf_init(&out, ceiling);
	assert_int_equal(render_one(format, &out, report), 0);
	json_decref(report);
	return out.data;
}

static void check(char *text, const char *const *has, const char *const *hasnot)
{
	for (; *has; has++)
		if (!strstr(text, *has))
			fail_msg("no %s in\n%s", *has, text);
	for (; *hasnot; hasnot++)
		if (strstr(text, *hasnot))
			fail_msg("%s in\n%s", *hasnot, text);
	free(text);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void test_junit_failed_run(void **state)
{
	(void)state;
	check(rendered(RENDER_JUNIT,
		       report_of("failed", "t", "MOS was 4.4", ""),
		       RENDER_JUNIT_BYTES),
	      LIST("<testsuite name=\"t\" id=\"0\" tests=\"4\" failures=\"2\" "
		   "errors=\"0\" skipped=\"0\" time=\"10.000\" "
		   "timestamp=\"2026-01-02T03:04:05\">",
		   "<testcase name=\"verdict\" classname=\"a_b.t\" "
		   "time=\"10.000\"><failure type=\"failed\" "
		   "message=\"MOS was 4.4\">",
		   "<failure type=\"r-mos-conditions\" "
		   "message=\"expected at least 4.9, was 4.4\">",
		   "<testcase name=\"holds\" ", "<testcase name=\"holds #2\" ",
		   "<property name=\"r.pdd_avg_ms\" value=\"12.5\"/>",
		   "<property name=\"r.mos_min\" value=\"4.4\"/>",
		   "<property name=\"attempt\" value=\"2\"/>"),
	      LIST("<error", "<skipped"));
}

static void test_junit_errored_run_skips_its_conditions(void **state)
{
	(void)state;
	check(rendered(RENDER_JUNIT,
		       report_of("errored", "t", "packets were dropped", ""),
		       RENDER_JUNIT_BYTES),
	      LIST("failures=\"0\" errors=\"1\" skipped=\"3\"",
		   "<error type=\"errored\" message=\"packets were dropped\">"),
	      LIST("<failure"));
}

static void test_junit_has_the_evidence_of_the_agents(void **state)
{
	json_t *report = report_of("errored", "t", "generator saturated", "");

	(void)state;
	json_object_set_new(report, "evidence",
			    json_pack("[{s:s,s:i,s:i,s:f,s:{s:f}},{s:s,s:i}]",
				      "role", "a", "packets_late", 37,
				      "throttled", 41, "steal_pct", 12.5,
				      "send_lateness_ms", "p99", 212.25, "role",
				      "b", "packets_late", 0));
	check(rendered(RENDER_JUNIT, report, RENDER_JUNIT_BYTES),
	      LIST("<property name=\"a.tester.send_lateness_p99_ms\" "
		   "value=\"212.25\"/>",
		   "<property name=\"a.tester.packets_late\" value=\"37\"/>",
		   "<property name=\"a.tester.throttled\" value=\"41\"/>",
		   "<property name=\"a.tester.steal_pct\" value=\"12.5\"/>",
		   "<property name=\"b.tester.packets_late\" value=\"0\"/>"),
	      LIST("b.tester.throttled", "b.tester.send_lateness_p99_ms"));
}

static void test_junit_has_the_evidence_of_each_engine(void **state)
{
	json_t *report = report_of("passed", "t", "", "");

	(void)state;
	json_object_set_new(report, "evidence",
			    json_pack("[{s:s,s:i,s:i,s:{s:f}},{s:s,s:i,s:i}]",
				      "role", "a", "engine", 1, "packets_late",
				      3, "send_lateness_ms", "p99", 2.5, "role",
				      "a", "engine", 2, "packets_late", 4));
	check(rendered(RENDER_JUNIT, report, RENDER_JUNIT_BYTES),
	      LIST("<property name=\"a.tester.engine1.send_lateness_p99_ms\" "
		   "value=\"2.5\"/>",
		   "<property name=\"a.tester.engine1.packets_late\" "
		   "value=\"3\"/>",
		   "<property name=\"a.tester.engine2.packets_late\" "
		   "value=\"4\"/>"),
	      LIST("a.tester.packets_late"));
}

static void test_junit_has_the_evidence_of_each_shard(void **state)
{
	json_t *report = report_of("passed", "t", "", "");

	(void)state;
	json_object_set_new(report, "evidence",
			    json_pack("[{s:s,s:i,s:i},{s:s,s:i,s:i,s:i}]",
				      "role", "a", "shard", 1, "packets_late",
				      3, "role", "a", "shard", 2, "engine", 1,
				      "packets_late", 4));
	check(rendered(RENDER_JUNIT, report, RENDER_JUNIT_BYTES),
	      LIST("<property name=\"a.tester.shard1.packets_late\" "
		   "value=\"3\"/>",
		   "<property name=\"a.tester.shard2.engine1.packets_late\" "
		   "value=\"4\"/>"),
	      LIST("a.tester.packets_late"));
}

/* Two shards of a, of which one was lost; one of b that has begun. */
static json_t *report_of_shards(void)
{
	json_t *report = report_of("passed", "t", "", "");

	json_object_set_new(json_object_get(report, "run"), "shards_lost",
			    json_integer(1));
	json_object_set_new(
		report, "shards",
		json_pack("[{s:s,s:i,s:i,s:s,s:s,s:i,s:f,s:f,s:f},"
			  "{s:s,s:i,s:i,s:s,s:s,s:i,s:f,s:f,s:f},"
			  "{s:s,s:i,s:i,s:n,s:s,s:i,s:f,s:f,s:f}]",
			  "role", "a", "shard", 1, "shards", 2, "agent",
			  "lab|1", "state", "finished", "calls", 10,
			  "calls_per_second", 2.5, "start_offset_ms", 12.25,
			  "clock_error_ms", 0.75, "role", "a", "shard", 2,
			  "shards", 2, "agent", "<lab2>", "state", "lost",
			  "calls", 9, "calls_per_second", 2.5,
			  "start_offset_ms", 0.0, "clock_error_ms", 1.5, "role",
			  "b", "shard", 1, "shards", 2, "agent", "state",
			  "waiting", "calls", 1, "calls_per_second", 1.0,
			  "start_offset_ms", 0.0, "clock_error_ms", 1.0));
	return report;
}

#define REDUCED                                                              \
	"Reduced: 1 shard was lost; the run went on without, and is judged " \
	"by the others."

static void test_shards_are_in_every_format(void **state)
{
	(void)state;
	check(rendered(RENDER_JUNIT, report_of_shards(), RENDER_JUNIT_BYTES),
	      LIST("<property name=\"reduced\" value=\"true\"/>",
		   "<property name=\"shards_lost\" value=\"1\"/>",
		   "<property name=\"a.start_skew_ms\" value=\"12.25\"/>",
		   "<property name=\"a.start_skew_error_ms\" value=\"2.25\"/>",
		   REDUCED),
	      LIST("b.start_skew"));
	check(rendered(RENDER_MARKDOWN, report_of_shards(),
		       RENDER_MARKDOWN_BYTES),
	      LIST("| Role | Shard | Agent | State | Calls | Calls/s |",
		   "| a | 1 of 2 | lab\\|1 | finished | 10 | 2.500 | 12.2 | 0.8 |",
		   "| a | 2 of 2 | &lt;lab2&gt; | lost | 9 |",
		   "| b | 1 of 2 | - | waiting |",
		   "The shards of a began within 12.2 ms, known to ±2.2 ms.",
		   "1 shard was lost; the run went on without, and is"),
	      LIST("The shards of b"));
	check(rendered(RENDER_HTML, report_of_shards(), RENDER_HTML_BYTES),
	      LIST("<h3>Shards</h3>",
		   "<tr class=\"failed\"><td>a</td><td>2 of 2</td><td>"
		   "&lt;lab2&gt;</td><td>lost</td><td>9</td><td>2.500</td>",
		   "The shards of a began within 12.2 ms, known to ±2.2 ms.",
		   "<p class=\"sentence\">" REDUCED "</p>"),
	      LIST("The shards of b"));
	check(rendered(RENDER_HTML, report_of("passed", "t", "", ""),
		       RENDER_HTML_BYTES),
	      LIST("</html>"), LIST("Shards", "Reduced"));
}

static void test_junit_stopped_run_is_skipped(void **state)
{
	json_t *report = report_of("stopped", "t", "", "");

	(void)state;
	json_object_del(report, "verdicts");
	check(rendered(RENDER_JUNIT, report, RENDER_JUNIT_BYTES),
	      LIST("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\"",
		   "<skipped message="),
	      LIST("<failure", "<error"));
}

static void test_junit_has_only_characters_of_xml(void **state)
{
	(void)state;
	check(rendered(RENDER_JUNIT,
		       report_of("failed", "\\u0001\\u001b\\ufffe\\u0085x",
				 "]]><a b=\\\"1\\\">&amp;", ""),
		       RENDER_JUNIT_BYTES),
	      LIST("name=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\"",
		   "]]&gt;&lt;a b=&quot;1&quot;&gt;&amp;amp;"),
	      LIST("\x01", "\x1b", "\xef\xbf\xbe", "]]>"));
}

static void test_markdown_failed_run(void **state)
{
	(void)state;
	check(rendered(RENDER_MARKDOWN,
		       report_of("failed", "t", "MOS was 4.4", ""),
		       RENDER_MARKDOWN_BYTES),
	      LIST("# ❌ t: failed\n", "failed: 1 of 3 conditions failed.",
		   "| MOS | at least 4.9 | 4.4 | r-1 |",
		   "| r | - | 1 of 1 | 12.50 / 12.50 | 4.40 / 4.40 nb | 0.50 |",
		   "[Report](<http://c/run/details/s-1>)"),
	      LIST("| holds"));
}

static void test_markdown_hostile_text_stays_text(void **state)
{
	(void)state;
	check(rendered(RENDER_MARKDOWN,
		       report_of("errored",
				 "<img src=x>[a](http://b)|`c`\\n# @d www.e",
				 "x", ""),
		       RENDER_MARKDOWN_BYTES),
	      LIST("&lt;img src=x&gt;\\[a\\](http&#58;//b)\\|\\`c\\` "
		   "\\#<!-- --> \\@<!-- -->d www\\.e: errored"),
	      LIST("<img", "\n# @"));
}

static void test_html_hostile_text_stays_text(void **state)
{
	(void)state;
	check(rendered(RENDER_HTML,
		       report_of("failed", "<script>1</script>",
				 "<a onclick=\\\"x\\\">", "</pre><script>"),
		       RENDER_HTML_BYTES),
	      LIST("<h1>&lt;script&gt;1&lt;/script&gt; <span class=\"badge "
		   "failed\">",
		   "&lt;a onclick=&quot;x&quot;&gt;",
		   "<pre>&lt;/pre&gt;&lt;script&gt;</pre>",
		   "default-src 'none'; style-src 'sha256-",
		   "<polyline class=\"s0\" points=\"56.0,46.5 632.0,10.0\"/>",
		   "<details><summary><span class=\"t\">1.5 ms</span> r → "
		   "192.0.2.1 INVITE</summary>"),
	      LIST("<script", "<a onclick", "<img", "http-equiv=\"refresh\""));
}

/* A run whose agent knows how exact its loss and its MOS plot are. */
static json_t *bounded_report(void)
{
	json_t *report = report_of("passed", "t", "", "x");
	json_t *call = json_array_get(json_object_get(report, "calls"), 0);

	json_object_set_new(json_array_get(json_object_get(call, "streams"), 0),
			    "loss_bound_pct", json_real(0.021));
	json_object_set_new(
		json_array_get(json_object_get(report, "series"), 0), "bound",
		json_real(0.5));
	return report;
}

static void test_error_bounds_stand_beside_their_figures(void **state)
{
	static const char *const html[] = {
		"<td>0.50 ± 0.03</td>",
		"r in ± 0.50</span> (band: error bound of the tester)",
		"<polygon class=\"s0\" points=\"56.0,",
		NULL,
	};
	static const char *const junit[] = {
		"<property name=\"r.loss_max_pct\" value=\"0.5\"/>",
		"<property name=\"r.loss_bound_pct\" value=\"0.03\"/>",
		NULL,
	};
	static const char *const none[] = {NULL};
	static const char *const unbounded[] = {"bound", "±", "polygon class",
						NULL};

	(void)state;
	check(rendered(RENDER_HTML, bounded_report(), 1 << 20), html, none);
	check(rendered(RENDER_JUNIT, bounded_report(), 1 << 20), junit, none);
	check(rendered(RENDER_HTML, report_of("passed", "t", "", "x"), 1 << 20),
	      none, unbounded);
	check(rendered(RENDER_JUNIT, report_of("passed", "t", "", "x"),
		       1 << 20),
	      none, unbounded);
}

/* Where the report has only the first calls, the figures are those of `figures`. */
static void test_figures_of_all_calls(void **state)
{
	json_t *report = report_of("passed", "t", "", "x");
	struct figures all = {.count = 0};
	json_t *calls = json_object_get(report, "calls");
	char role[8] = "r";

	(void)state;
	for (int i = 0; i < 3; i++)
		figures_add_call(&all, role, json_array_get(calls, 0));
	role[0] = 's';
	figures_add_registration(&all, role, NULL);
	role[0] = 'x'; /* the names are copies */
	json_object_set_new(report, "figures", figures_json(&all));
	json_object_set_new(report, "calls_omitted", json_integer(12));
	json_incref(report);
	check(rendered(RENDER_JUNIT, report, 1 << 20),
	      LIST("<property name=\"r.calls\" value=\"3\"/>",
		   "<property name=\"s.registrations\" value=\"1\"/>"),
	      LIST("These figures are of"));
	json_object_set_new(report, "figures_omitted", json_integer(10));
	check(rendered(RENDER_JUNIT, report, 1 << 20),
	      LIST("These figures are of the first 3 calls; 10 further ones"),
	      LIST("first 1 calls"));
}

static void test_links_are_http_only(void **state)
{
	json_t *report = report_of("passed", "t", "", "");

	(void)state;
	json_object_set_new(json_object_get(report, "run"), "report_url",
			    json_string("javascript:alert(1)"));
	json_incref(report);
	check(rendered(RENDER_HTML, report, RENDER_HTML_BYTES), LIST("passed"),
	      LIST("javascript"));
	check(rendered(RENDER_MARKDOWN, report, RENDER_MARKDOWN_BYTES),
	      LIST("passed"), LIST("javascript"));
}

/* A run with `count` verdicts, one of which failed, and as many calls. */
static json_t *large_report(size_t count)
{
	json_t *report = report_of("failed", "t", "", "");
	json_t *verdicts = json_object_get(report, "verdicts");
	json_t *calls = json_object_get(report, "calls");
	char name[3001];

	memset(name, '@', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	json_array_clear(verdicts);
	for (size_t i = 0; i <= count; i++) {
		json_array_append_new(verdicts,
				      json_pack("{s:s, s:b, s:s, s:s}", "text",
						name, "passed", i != count,
						"expected", name, "actual",
						i == count ? "last" : name));
		json_array_append_new(calls, json_pack("{s:s}", "role", name));
	}
	return report;
}

static void test_large_reports_are_bounded_and_say_so(void **state)
{
	json_t *report = large_report(20000);

	(void)state;
	json_incref(report);
	check(rendered(RENDER_JUNIT, json_incref(report), RENDER_JUNIT_BYTES),
	      LIST("tests=\"2001\" failures=\"2\"", ", was last",
		   "18001 conditions are left out"),
	      LIST());
	check(rendered(RENDER_HTML, json_incref(report), RENDER_HTML_BYTES),
	      LIST("<td>last</td>", "19001 conditions are left out",
		   "19802 calls are left out"),
	      LIST());
	check(rendered(RENDER_MARKDOWN, report, RENDER_MARKDOWN_BYTES),
	      LIST("| last |"), LIST());
	json_decref(report);
}

static void test_markdown_with_the_most_failures_fits(void **state)
{
	json_t *report = large_report(500), *verdict;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(report, "verdicts"), i, verdict)
	{
		json_object_set_new(verdict, "passed", json_false());
	}
	check(rendered(RENDER_MARKDOWN, report, RENDER_MARKDOWN_BYTES / 2),
	      LIST("451 more failed conditions are left out"), LIST());
}

static void test_ceiling_of_the_buffer_is_an_error(void **state)
{
	json_t *report = report_of("passed", "t", "", "");
	struct buf out;

	(void)state;
	buf_init(&out, 100);
	assert_true(render_one(RENDER_JUNIT, &out, report) < 0);
	assert_true(render_one(RENDER_HTML, &out, report) < 0);
	buf_release(&out);
	json_decref(report);
}

static void test_project_run_has_a_suite_a_test(void **state)
{
	json_t *head =
		json_pack("{s:s, s:s, s:[{s:s, s:s, s:i}, {s:s, s:s, s:i}]}",
			  "project_name", "<p>", "run_status", "failed", "runs",
			  "test_name", "one", "status", "failed", "attempt", 1,
			  "test_name", "two", "status", "passed", "attempt", 1);
	const enum render_format all[] = {RENDER_JUNIT, RENDER_MARKDOWN,
					  RENDER_HTML};
	const char *const *has[] = {
		LIST("<testsuites name=\"&lt;p&gt;\">",
		     "<testsuite name=\"one\" id=\"1\"",
		     "<testsuite name=\"two\" id=\"2\"", "</testsuites>"),
		LIST("# ❌ &lt;p&gt;: failed", "| ❌ | one | 1 | failed |",
		     "## ❌ one: failed", "## ✅ two: passed"),
		LIST("<h1>&lt;p&gt;", "<a href=\"#run-2\">two</a>",
		     "id=\"run-2\"", "<h2>two"),
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		json_t *one = report_of("failed", "one", "", "");
		json_t *two = report_of("passed", "two", "", "");
		struct render r;
		struct buf out;

		buf_init(&out, RENDER_HTML_BYTES);
		assert_int_equal(render_begin(&r, all[i], &out, head), 0);
		assert_int_equal(render_run(&r, one), 0);
		assert_int_equal(render_run(&r, two), 0);
		assert_int_equal(render_end(&r), 0);
		check(out.data, has[i], LIST());
		json_decref(one);
		json_decref(two);
	}
	json_decref(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_junit_failed_run),
		cmocka_unit_test(test_junit_errored_run_skips_its_conditions),
		cmocka_unit_test(test_junit_has_the_evidence_of_the_agents),
		cmocka_unit_test(test_junit_has_the_evidence_of_each_engine),
		cmocka_unit_test(test_junit_has_the_evidence_of_each_shard),
		cmocka_unit_test(test_shards_are_in_every_format),
		cmocka_unit_test(test_junit_stopped_run_is_skipped),
		cmocka_unit_test(test_junit_has_only_characters_of_xml),
		cmocka_unit_test(test_markdown_failed_run),
		cmocka_unit_test(test_markdown_hostile_text_stays_text),
		cmocka_unit_test(test_html_hostile_text_stays_text),
		cmocka_unit_test(test_error_bounds_stand_beside_their_figures),
		cmocka_unit_test(test_figures_of_all_calls),
		cmocka_unit_test(test_links_are_http_only),
		cmocka_unit_test(test_large_reports_are_bounded_and_say_so),
		cmocka_unit_test(test_markdown_with_the_most_failures_fits),
		cmocka_unit_test(test_ceiling_of_the_buffer_is_an_error),
		cmocka_unit_test(test_project_run_has_a_suite_a_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
