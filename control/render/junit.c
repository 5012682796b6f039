/* JUnit XML as Jenkins, GitLab and others read it: their common part, the
 * schema junit-10.xsd of the Jenkins plugin xunit. */
#include "base/buf.h"
#include "base/str.h"
#include "control/render/figures.h"
#include "control/render/formats.h"
#include "control/render/outcome.h"
#include "control/render/shards.h"
#include "control/wire/text.h"

#include <string.h>

/* Of a suite; passed conditions above it are left out. */
#define CASES_MAX   2000
#define CASES_BYTES ((size_t)16 << 20)

void junit_begin(struct document *d, const json_t *head)
{
	document_put(d, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<testsuites name=\"");
	document_xml(d, head ? text_of(head, "project_name") : "offhook",
		     DOCUMENT_NAME_BYTES);
	document_put(d, "\">\n");
}

void junit_end(struct document *d, size_t left_out)
{
	if (left_out)
		document_print(d,
			       "<!-- %zu runs are left out: the report is too "
			       "large -->\n",
			       left_out);
	document_put(d, "</testsuites>\n");
}

/* ---- properties ---- */

static void property(struct document *d, const char *name, const char *value)
{
	if (!value[0])
		return;
	document_print(d, "<property name=\"%s\" value=\"", name);
	document_xml(d, value, DOCUMENT_NAME_BYTES * 4);
	document_put(d, "\"/>\n");
}

static void figure_property(struct document *d, const struct role_figures *r,
			    const char *name, double value)
{
	document_put(d, "<property name=\"");
	document_xml(d, r->role, DOCUMENT_NAME_BYTES);
	document_print(d, ".%s\" value=\"%.6g\"/>\n", name, value);
}

/* The highest figure of a role's streams, and its error bound where it has one. */
static void bounded_property(struct document *d, const struct role_figures *r,
			     const char *name, const char *bound_name,
			     const struct figure *f, const struct figure *bound)
{
	double value;

	if (f->n)
		figure_property(d, r, name, f->max);
	if (figure_bound_value(f, bound, &value))
		figure_property(d, r, bound_name, value);
}

static void role_properties(struct document *d, const struct role_figures *r)
{
	if (r->registrations) {
		figure_property(d, r, "registered", (double)r->registered);
		figure_property(d, r, "registrations",
				(double)r->registrations);
	}
	if (r->calls) {
		figure_property(d, r, "calls", (double)r->calls);
		figure_property(d, r, "established", (double)r->established);
		figure_property(d, r, "failed", (double)r->failed);
	}
	if (r->pdd_ms.n) {
		figure_property(d, r, "pdd_avg_ms", figure_average(&r->pdd_ms));
		figure_property(d, r, "pdd_max_ms", r->pdd_ms.max);
	}
	if (r->mos.n) {
		figure_property(d, r, "mos_min", r->mos.min);
		figure_property(d, r, "mos_avg", figure_average(&r->mos));
	}
	bounded_property(d, r, "loss_max_pct", "loss_bound_pct", &r->loss_pct,
			 &r->loss_bound_pct);
	bounded_property(d, r, "jitter_max_ms", "jitter_bound_ms",
			 &r->jitter_ms, &r->jitter_bound_ms);
	bounded_property(d, r, "rtt_max_ms", "rtt_bound_ms", &r->rtt_ms,
			 &r->rtt_bound_ms);
}

/* Whether the tester was the limit: figures of an `evidence` event. Of a role that
 * several agents or engines carried out each has its own. */
static void evidence_properties(struct document *d, const json_t *event)
{
	static const char *const names[] = {
		"packets_late",
		"packets_unsent",
		"send_errors",
		"receive_queue_drops",
		"ring_drops",
		"sip_queue_drops",
		"starts_missed",
		"loop_lateness_p99_ms",
		"loop_lateness_max_ms",
		"processor_pct",
		"processor_wait_pct",
		"steal_pct",
		"throttled",
		"throttled_ms",
		"clock_step_ms",
	};
	const struct role_figures r = {.role = text_of(event, "role")};
	const json_t *late = json_object_get(event, "send_lateness_ms");
	const json_t *value = json_object_get(late, "p99");
	const json_int_t shard =
		json_integer_value(json_object_get(event, "shard"));
	const json_int_t engine =
		json_integer_value(json_object_get(event, "engine"));
	char whose[48] = "", tester[96] = "tester", late_name[128];

	if (shard > 0)
		str_print(whose, sizeof(whose), ".shard%" JSON_INTEGER_FORMAT,
			  shard);
	str_print(tester, sizeof(tester), "tester%s", whose);
	if (engine > 0)
		str_print(tester, sizeof(tester),
			  "tester%s.engine%" JSON_INTEGER_FORMAT, whose,
			  engine);
	str_print(late_name, sizeof(late_name), "%s.send_lateness_p99_ms",
		  tester);
	if (json_is_number(value))
		figure_property(d, &r, late_name, json_number_value(value));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[128];

		value = json_object_get(event, names[i]);
		str_print(name, sizeof(name), "%s.%s", tester, names[i]);
		if (json_is_number(value))
			figure_property(d, &r, name, json_number_value(value));
	}
}

/* What the run went on without, and how far apart its shards began. */
static void shard_properties(struct document *d, const json_t *report)
{
	const json_t *run = json_object_get(report, "run");
	const json_int_t lost =
		json_integer_value(json_object_get(run, "shards_lost"));
	const json_t *shards = json_object_get(report, "shards");
	struct shard_skew skew;
	size_t at = 0;

	if (lost > 0) {
		property(d, "reduced", "true");
		document_print(d,
			       "<property name=\"shards_lost\" value=\"%" //
			       JSON_INTEGER_FORMAT "\"/>\n",
			       lost);
	}
	while (shard_skew_next(&skew, shards, &at)) {
		const struct role_figures r = {.role = skew.role};

		figure_property(d, &r, "start_skew_ms", skew.skew_ms);
		figure_property(d, &r, "start_skew_error_ms", skew.error_ms);
	}
}

static void properties(struct document *d, const json_t *report)
{
	const json_t *run = json_object_get(report, "run"), *agent, *event;
	const json_t *attempt = json_object_get(run, "attempt");
	struct role_figures roles[FIGURES_ROLES_MAX];
	size_t count = figures_collect(roles, report), i;
	char removed[OUTCOME_REMOVED_BYTES], note[FIGURES_NOTE_BYTES];

	document_put(d, "<properties>\n");
	property(d, "run_id", text_of(run, "session_id"));
	property(d, "status", text_of(run, "status"));
	property(d, "report_url", text_of(run, "report_url"));
	property(d, "agent_pool", text_of(run, "agentpool_name"));
	if (outcome_removed(removed, run))
		property(d, "removed", removed);
	property(d, "figures", figures_note(note, report));
	if (json_is_integer(attempt))
		document_print(d,
			       "<property name=\"attempt\" value=\"%" //
			       JSON_INTEGER_FORMAT "\"/>\n",
			       json_integer_value(attempt));
	shard_properties(d, report);
	json_array_foreach(json_object_get(report, "agents"), i, agent)
	{
		if (i == FIGURES_ROLES_MAX)
			break;
		document_put(d, "<property name=\"agent.");
		document_xml(d, text_of(agent, "role"), DOCUMENT_NAME_BYTES);
		document_put(d, "\" value=\"");
		document_xml(d, text_of(agent, "name"), DOCUMENT_NAME_BYTES);
		document_put(d, "\"/>\n");
	}
	for (i = 0; i < count; i++)
		role_properties(d, &roles[i]);
	json_array_foreach(json_object_get(report, "evidence"), i, event)
	{
		if (i == FIGURES_ROLES_MAX)
			break;
		evidence_properties(d, event);
	}
	document_put(d, "</properties>\n");
}

/* ---- test cases ---- */

struct suite {
	struct document *d; /* of the cases */
	const json_t *report;
	const json_t *run;
	struct outcome outcome;
	json_t *names; /* owned: how often each was used */
	size_t cases;
	size_t failures;
	size_t errors;
	size_t skipped;
	size_t left_out;
};

/* Periods separate packages and class in a class name: names have none. */
static void class_part(struct document *d, const char *text)
{
	char part[DOCUMENT_NAME_BYTES + 1];
	size_t len = strnlen(text, DOCUMENT_NAME_BYTES);

	memcpy(part, text, len);
	part[len] = '\0';
	for (char *dot = part; (dot = strchr(dot, '.')) != NULL;)
		*dot = '_';
	document_xml(d, part, DOCUMENT_NAME_BYTES);
}

static void open_case(struct suite *s, const char *name, double time_s)
{
	json_int_t used =
		json_integer_value(json_object_get(s->names, name)) + 1;

	json_object_set_new(s->names, name, json_integer(used));
	document_put(s->d, "<testcase name=\"");
	document_xml(s->d, name, 2 * DOCUMENT_NAME_BYTES);
	/* GitLab takes two cases of one name for the same */
	if (used > 1)
		document_print(s->d, " #%" JSON_INTEGER_FORMAT, used);
	document_put(s->d, "\" classname=\"");
	if (text_of(s->run, "project_name")[0]) {
		class_part(s->d, text_of(s->run, "project_name"));
		document_put(s->d, ".");
	}
	class_part(s->d, outcome_test_name(s->run));
	document_print(s->d, "\" time=\"%.3f\">", time_s);
	s->cases++;
}

static void close_case(struct suite *s)
{
	document_put(s->d, "</testcase>\n");
}

/* What changed since the last passed run, a sentence a line. */
static void changes(struct suite *s)
{
	const json_t *list = json_object_get(s->report, "differences"), *one;
	size_t i;

	if (json_array_size(list))
		document_put(s->d, "\nWhat changed since the last passed run:");
	json_array_foreach(list, i, one)
	{
		document_put(s->d, "\n- ");
		document_xml(s->d, text_of(one, "sentence"),
			     DOCUMENT_SENTENCE_BYTES);
	}
}

/* The verdict of the whole run. */
static void run_case(struct suite *s)
{
	const char *result = text_of(s->run, "result_description");
	char text[OUTCOME_TEXT_BYTES];
	const char *element = NULL;

	outcome_text(text, &s->outcome);
	open_case(s, "verdict", s->outcome.duration_s);
	if (s->outcome.kind == OUTCOME_FAILED) {
		element = "failure";
		s->failures++;
	} else if (s->outcome.kind == OUTCOME_ERRORED) {
		element = "error";
		s->errors++;
	} else if (s->outcome.kind == OUTCOME_STOPPED) {
		s->skipped++;
		document_print(s->d, "<skipped message=\"%s\"/>", text);
	}
	if (element) {
		document_print(s->d, "<%s type=\"%s\" message=\"", element,
			       outcome_word(s->outcome.kind));
		document_xml(s->d, result[0] ? result : text,
			     4 * DOCUMENT_NAME_BYTES);
		document_print(s->d, "\">%s", text);
		if (result[0])
			document_put(s->d, "\n");
		document_xml(s->d, result, DOCUMENT_SENTENCE_BYTES);
		changes(s);
		document_print(s->d, "</%s>", element);
	}
	close_case(s);
}

static void failure(struct suite *s, const json_t *verdict)
{
	const char *expected = text_of(verdict, "expected");
	const char *actual = text_of(verdict, "actual");
	const char *sentence = text_of(verdict, "sentence");
	const char *call = text_of(verdict, "call");

	document_put(s->d, "<failure type=\"");
	document_xml(s->d, text_of(verdict, "condition_type"),
		     DOCUMENT_NAME_BYTES);
	document_put(s->d, "\" message=\"");
	if (expected[0]) {
		document_put(s->d, "expected ");
		document_xml(s->d, expected, 2 * DOCUMENT_NAME_BYTES);
		document_put(s->d, ", was ");
		document_xml(s->d, actual[0] ? actual : "unknown",
			     2 * DOCUMENT_NAME_BYTES);
	} else {
		document_xml(s->d, sentence[0] ? sentence : "failed",
			     2 * DOCUMENT_NAME_BYTES);
	}
	document_put(s->d, "\">");
	document_xml(s->d, sentence, DOCUMENT_SENTENCE_BYTES);
	document_put(s->d, "\nexpected: ");
	document_xml(s->d, expected, DOCUMENT_SENTENCE_BYTES);
	document_put(s->d, "\nwas: ");
	document_xml(s->d, actual, DOCUMENT_SENTENCE_BYTES);
	if (call[0]) {
		document_put(s->d, "\ncall: ");
		document_xml(s->d, call, DOCUMENT_NAME_BYTES);
	}
	document_put(s->d, "</failure>");
	s->failures++;
}

static void verdict_case(struct suite *s, const json_t *verdict)
{
	open_case(s, text_of(verdict, "text"), 0);
	if (json_is_true(json_object_get(verdict, "undecided"))) {
		document_put(s->d, "<skipped message=\"");
		document_xml(s->d, text_of(verdict, "sentence"),
			     2 * DOCUMENT_NAME_BYTES);
		document_put(s->d, "\"/>");
		s->skipped++;
	} else if (s->outcome.kind == OUTCOME_ERRORED) {
		document_put(s->d, "<skipped message=\"not counted: the run "
				   "is errored\"/>");
		s->skipped++;
	} else if (!json_is_true(json_object_get(verdict, "passed"))) {
		failure(s, verdict);
	}
	close_case(s);
}

/* Failed conditions go before passed ones, if not all fit. */
static void verdict_cases(struct suite *s)
{
	size_t passed_max = s->outcome.failed < CASES_MAX
				    ? CASES_MAX - s->outcome.failed
				    : 0;
	size_t passed = 0, failed = 0, i;
	const json_t *verdict;

	json_array_foreach(json_object_get(s->report, "verdicts"), i, verdict)
	{
		bool holds = json_is_true(json_object_get(verdict, "passed"));

		if (holds ? passed >= passed_max : failed >= CASES_MAX) {
			s->left_out++;
			continue;
		}
		if (holds)
			passed++;
		else
			failed++;
		verdict_case(s, verdict);
	}
}

/* ---- the suite ---- */

static void open_suite(struct document *d, const struct suite *s, size_t number)
{
	char started[] = "YYYY-MM-DDTHH:MM:SS";
	double time_s;

	document_put(d, "<testsuite name=\"");
	document_xml(d, outcome_test_name(s->run), DOCUMENT_NAME_BYTES);
	document_print(d,
		       "\" id=\"%zu\" tests=\"%zu\" failures=\"%zu\" "
		       "errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\"",
		       number, s->cases, s->failures, s->errors, s->skipped,
		       s->outcome.duration_s);
	if (outcome_time(text_of(s->run, "started_at"), &time_s)) {
		memcpy(started, text_of(s->run, "started_at"),
		       strnlen(text_of(s->run, "started_at"),
			       sizeof(started) - 1));
		started[10] = 'T'; /* xs:dateTime, UTC */
		document_print(d, " timestamp=\"%s\"", started);
	}
	document_put(d, ">\n");
}

/* The warnings that the start of the run answered with. */
static void warnings(struct document *d, const json_t *run)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(run, "warnings"), i, one)
	{
		document_put(d, "warning: ");
		document_xml(d, json_string_value(one),
			     DOCUMENT_SENTENCE_BYTES);
		document_put(d, "\n");
	}
}

static void system_out(struct document *d, const struct suite *s)
{
	const char *result = text_of(s->run, "result_description");
	const char *url = text_of(s->run, "report_url");
	char text[OUTCOME_TEXT_BYTES], reduced[OUTCOME_REDUCED_BYTES];

	outcome_text(text, &s->outcome);
	document_print(d, "<system-out>%s: %s\n", outcome_word(s->outcome.kind),
		       text);
	warnings(d, s->run);
	if (outcome_reduced(reduced, s->run))
		document_print(d, "%s\n", reduced);
	if (result[0]) {
		document_xml(d, result, DOCUMENT_SENTENCE_BYTES);
		document_put(d, "\n");
	}
	if (url[0]) {
		document_put(d, "report: ");
		document_xml(d, url, 4 * DOCUMENT_NAME_BYTES);
		document_put(d, "\n");
	}
	if (s->left_out)
		document_print(d,
			       "%zu conditions are left out of this report\n",
			       s->left_out);
	document_put(d, "</system-out>\n");
}

void junit_run(struct document *d, const json_t *report, size_t number)
{
	struct buf text;
	struct document cases = {.out = &text};
	struct suite s = {
		.d = &cases,
		.report = report,
		.run = json_object_get(report, "run"),
		.names = json_object(),
	};

	buf_init(&text, CASES_BYTES);
	outcome_of(&s.outcome, report);
	run_case(&s);
	verdict_cases(&s);
	open_suite(d, &s, number);
	properties(d, report);
	if (!d->err)
		d->err = cases.err;
	if (!d->err)
		d->err = buf_add(d->out, text.data, text.used);
	system_out(d, &s);
	document_put(d, "</testsuite>\n");
	json_decref(s.names);
	buf_release(&text);
}
