/* A page that needs nothing else: it opens from a file, without a network. */
#include "base/buf.h"
#include "control/render/figures.h"
#include "control/render/formats.h"
#include "control/render/outcome.h"
#include "control/render/plot.h"
#include "control/render/shards.h"
#include "control/wire/text.h"
#include "report_css.h" /* made of report.css */

#include <string.h>

/* Most rows of the tables of a run. The report says how many are left out. */
#define VERDICTS_MAX 1000
#define CALLS_MAX    200
#define MESSAGES_MAX 500
#define RUNS_MAX     10000

/* SIP messages of a run end above this size. */
#define MESSAGES_BYTES ((size_t)4 << 20)

/* No script, no network: the style is the one with this hash. */
#define POLICY                                                     \
	"default-src 'none'; style-src 'sha256-" REPORT_CSS_SHA256 \
	"'; base-uri 'none'; form-action 'none'"

static void text(struct document *d, const char *value)
{
	document_xml(d, value, DOCUMENT_SENTENCE_BYTES);
}

static void cell(struct document *d, const char *value)
{
	document_put(d, "<td>");
	text(d, value[0] ? value : "–");
	document_put(d, "</td>");
}

static void link_to(struct document *d, const char *url, const char *name)
{
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return;
	document_put(d, "<a href=\"");
	text(d, url);
	document_print(d, "\">%s</a>", name);
}

static void badge(struct document *d, enum outcome_kind kind)
{
	document_print(d, " <span class=\"badge %s\">%s</span>",
		       outcome_word(kind), outcome_word(kind));
}

/* ---- the document ---- */

static void put_runs(struct document *d, const json_t *head)
{
	const json_t *run, *runs = json_object_get(head, "runs");
	enum outcome_kind kind = outcome_kind(text_of(head, "run_status"));
	size_t i;

	document_put(d, "<h1>");
	text(d, text_of(head, "project_name"));
	badge(d, kind);
	document_put(d, "</h1>\n<p class=\"facts\"><span>Started <b>");
	text(d, text_of(head, "created_at"));
	document_put(d, "</b> UTC</span> <span>ended <b>");
	text(d, text_of(head, "stopped_at"));
	document_put(d, "</b> UTC</span> ");
	link_to(d, text_of(head, "report_url"), "Project run");
	document_put(d,
		     "</p>\n<section class=\"card\"><table><tr><th>Test</th>"
		     "<th>Attempt</th><th>Status</th><th>Result</th></tr>\n");
	json_array_foreach(runs, i, run)
	{
		if (i == RUNS_MAX)
			break;
		kind = outcome_kind(text_of(run, "status"));
		document_print(d, "<tr><td><a href=\"#run-%zu\">", i + 1);
		text(d, outcome_test_name(run));
		document_print(
			d,
			"</a></td><td>%" JSON_INTEGER_FORMAT
			"</td><td class=\"%s\">%s</td>",
			json_integer_value(json_object_get(run, "attempt")),
			outcome_word(kind), outcome_word(kind));
		cell(d, text_of(run, "result_description"));
		document_put(d, "</tr>\n");
	}
	document_put(d, "</table></section>\n");
}

void html_begin(struct document *d, const json_t *head)
{
	document_put(d, "<!doctype html>\n<html lang=\"en\"><head>"
			"<meta charset=\"utf-8\">\n"
			"<meta http-equiv=\"Content-Security-Policy\" "
			"content=\"" POLICY "\">\n"
			"<meta name=\"viewport\" "
			"content=\"width=device-width\">\n"
			"<meta name=\"referrer\" content=\"no-referrer\">\n"
			"<title>Offhook report</title>\n<style>");
	document_put(d, report_css);
	document_put(d, "</style></head>\n<body><main>\n");
	if (head)
		put_runs(d, head);
}

void html_end(struct document *d, size_t left_out)
{
	if (left_out)
		document_print(d,
			       "<p class=\"note\">The details of %zu runs are "
			       "left out: the report would be too large.</p>\n",
			       left_out);
	document_put(d, "</main></body></html>\n");
}

/* ---- the head of a run ---- */

static void fact(struct document *d, const char *name, const char *value)
{
	if (!value[0])
		return;
	document_print(d, "<span>%s <b>", name);
	text(d, value);
	document_put(d, "</b></span>\n");
}

static void facts(struct document *d, const json_t *report,
		  const struct outcome *outcome)
{
	const json_t *run = json_object_get(report, "run"), *agent;
	const json_t *attempt = json_object_get(run, "attempt");
	size_t i;

	document_put(d, "<p class=\"facts\">\n");
	fact(d, "Project", text_of(run, "project_name"));
	fact(d, "Started (UTC)", text_of(run, "started_at"));
	if (outcome->has_duration)
		document_print(d, "<span>Duration <b>%.0f s</b></span>\n",
			       outcome->duration_s);
	if (json_integer_value(attempt) > 1)
		document_print(d,
			       "<span>Attempt <b>%" JSON_INTEGER_FORMAT
			       "</b></span>\n",
			       json_integer_value(attempt));
	fact(d, "Agent pool", text_of(run, "agentpool_name"));
	json_array_foreach(json_object_get(report, "agents"), i, agent)
	{
		if (i == FIGURES_ROLES_MAX)
			break;
		document_put(d, "<span>");
		text(d, text_of(agent, "role"));
		document_put(d, " on <b>");
		text(d, text_of(agent, "name"));
		document_put(d, "</b></span>\n");
	}
	fact(d, "Run", text_of(run, "session_id"));
	link_to(d, text_of(run, "report_url"), "Report on the controller");
	document_put(d, "</p>\n");
}

/* What changed since the last passed run. */
static void changes(struct document *d, const json_t *report)
{
	const json_t *list = json_object_get(report, "differences"), *one;
	size_t i;

	if (!json_array_size(list))
		return;
	document_put(d, "<h3>What changed since the last passed run</h3>\n"
			"<ol>\n");
	json_array_foreach(list, i, one)
	{
		document_put(d, "<li>");
		text(d, text_of(one, "sentence"));
		document_put(d, "</li>\n");
	}
	document_put(d, "</ol>\n");
}

static void sentence(struct document *d, const char *words)
{
	document_put(d, "<p class=\"sentence\">");
	text(d, words);
	document_put(d, "</p>\n");
}

/* The warnings that the start of the run answered with. */
static void warnings(struct document *d, const json_t *run)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(run, "warnings"), i, one)
	{
		document_put(d, "<p class=\"sentence\"><b>Warning:</b> ");
		text(d, json_string_value(one));
		document_put(d, "</p>\n");
	}
}

static void run_head(struct document *d, const json_t *report, size_t number)
{
	const json_t *run = json_object_get(report, "run");
	const char *result = text_of(run, "result_description");
	const char *heading = number ? "h2" : "h1";
	char words[OUTCOME_TEXT_BYTES], removed[OUTCOME_REMOVED_BYTES];
	char reduced[OUTCOME_REDUCED_BYTES];
	struct outcome outcome;

	outcome_of(&outcome, report);
	outcome_text(words, &outcome);
	document_print(d, "<%s>", heading);
	text(d, outcome_test_name(run));
	badge(d, outcome.kind);
	document_print(d, "</%s>\n<p class=\"sentence\"><b>%s:</b> %s.",
		       heading, outcome_word(outcome.kind), words);
	if (result[0]) {
		document_put(d, "<br>");
		text(d, result);
	}
	document_put(d, "</p>\n");
	changes(d, report);
	warnings(d, run);
	if (outcome_reduced(reduced, run))
		sentence(d, reduced);
	if (outcome_removed(removed, run))
		sentence(d, removed);
	facts(d, report, &outcome);
}

/* ---- tables ---- */

static void left_out(struct document *d, size_t count, const char *what)
{
	if (count)
		document_print(d, "<p class=\"note\">%zu %s are left out.</p>",
			       count, what);
}

static void verdict_row(struct document *d, const json_t *verdict)
{
	bool passed = json_is_true(json_object_get(verdict, "passed"));
	bool open = json_is_true(json_object_get(verdict, "undecided"));
	const char *name = passed ? "passed" : open ? "errored" : "failed";

	document_print(d, "<tr class=\"%s\"><td class=\"%s\">%s</td><td>", name,
		       name,
		       passed ? "✓ passed"
		       : open ? "? too few calls"
			      : "✗ failed");
	text(d, text_of(verdict, "text"));
	if (!passed) {
		document_put(d, "<br><span class=\"why\">");
		text(d, text_of(verdict, "sentence"));
		document_put(d, "</span>");
	}
	document_put(d, "</td>");
	cell(d, text_of(verdict, "expected"));
	cell(d, text_of(verdict, "actual"));
	cell(d, text_of(verdict, "call"));
	document_put(d, "</tr>\n");
}

/* Rows of `pick` first, then the others. @return how many did not fit */
static size_t rows(struct document *d, const json_t *items, size_t max,
		   bool (*pick)(const json_t *item),
		   void (*row)(struct document *d, const json_t *item))
{
	size_t shown = 0, count = json_array_size(items);

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < count && shown < max; i++) {
			const json_t *item = json_array_get(items, i);

			if (pick(item) != (pass == 0))
				continue;
			row(d, item);
			shown++;
		}
	}
	return count - shown;
}

static bool verdict_failed(const json_t *verdict)
{
	return !json_is_true(json_object_get(verdict, "passed"));
}

static void verdicts(struct document *d, const json_t *report)
{
	const json_t *items = json_object_get(report, "verdicts");
	size_t more;

	if (!json_array_size(items))
		return;
	document_put(d, "<section class=\"card\"><h3>Conditions</h3><table>"
			"<tr><th></th><th>Condition</th><th>Expected</th>"
			"<th>Was</th><th>Call</th></tr>\n");
	more = rows(d, items, VERDICTS_MAX, verdict_failed, verdict_row);
	document_put(d, "</table>");
	left_out(d, more, "conditions");
	document_put(d, "</section>\n");
}

/* @param bound  of the average; all zero: none */
static void average_max(struct document *d, const struct figure *f,
			const struct figure *bound)
{
	char error[FIGURES_BOUND_BYTES];

	if (f->n)
		document_print(d, "<td>%.2f%s / %.2f</td>", figure_average(f),
			       figure_bound(error, f, bound), f->max);
	else
		document_put(d, "<td>–</td>");
}

static void role_row(struct document *d, const struct role_figures *r)
{
	static const struct figure no_bound;
	char error[FIGURES_BOUND_BYTES];

	document_put(d, "<tr>");
	cell(d, r->role);
	document_print(d, "<td>%zu of %zu</td><td>%zu of %zu</td>",
		       r->registered, r->registrations, r->established,
		       r->calls);
	average_max(d, &r->pdd_ms, &no_bound);
	if (r->mos.n) {
		document_print(d, "<td>%.2f / %.2f ", r->mos.min,
			       figure_average(&r->mos));
		text(d, r->mos_scale);
		document_put(d, "</td>");
	} else {
		document_put(d, "<td>–</td>");
	}
	if (r->loss_pct.n)
		document_print(
			d, "<td>%.2f%s</td>", r->loss_pct.max,
			figure_bound(error, &r->loss_pct, &r->loss_bound_pct));
	else
		document_put(d, "<td>–</td>");
	average_max(d, &r->jitter_ms, &r->jitter_bound_ms);
	average_max(d, &r->rtt_ms, &r->rtt_bound_ms);
	document_put(d, "</tr>\n");
}

static void figures(struct document *d, const json_t *report)
{
	struct role_figures roles[FIGURES_ROLES_MAX];
	size_t count = figures_collect(roles, report);
	char note[FIGURES_NOTE_BYTES];

	if (!count)
		return;
	document_put(d, "<section class=\"card\"><h3>Figures</h3><table><tr>"
			"<th>Role</th><th>Registered</th><th>Established</th>"
			"<th>Post-dial delay avg / max, ms</th>"
			"<th>MOS min / avg</th><th>Loss max, %</th>"
			"<th>Jitter avg / max, ms</th>"
			"<th>Round trip avg / max, ms</th></tr>\n");
	for (size_t i = 0; i < count; i++)
		role_row(d, &roles[i]);
	document_put(d, "</table>");
	if (figures_note(note, report)[0])
		document_print(d, "<p class=\"note\">%s</p>", note);
	document_put(d, "</section>\n");
}

static void shard_row(struct document *d, const json_t *shard)
{
	struct shard_cells c;

	shard_cells_of(&c, shard);
	document_print(d, "<tr class=\"%s\">",
		       strcmp(text_of(shard, "state"), "lost") == 0 ? "failed"
								    : "passed");
	for (size_t i = 0; i < SHARD_COLUMNS; i++)
		cell(d, c.all[i]);
	document_put(d, "</tr>\n");
}

static void shards(struct document *d, const json_t *report)
{
	const json_t *list = json_object_get(report, "shards"), *shard;
	struct shard_skew skew;
	size_t i, at = 0;

	if (!json_array_size(list))
		return;
	document_put(d, "<section class=\"card\"><h3>Shards</h3><table><tr>"
			"<th>Role</th><th>Shard</th><th>Agent</th>"
			"<th>State</th><th>Calls</th><th>Calls/s</th>"
			"<th>Began, ms after the first</th>"
			"<th>Clock error, ms</th></tr>\n");
	json_array_foreach(list, i, shard) shard_row(d, shard);
	document_put(d, "</table>\n");
	while (shard_skew_next(&skew, list, &at)) {
		document_put(d, "<p class=\"note\">The shards of ");
		text(d, skew.role);
		document_print(
			d, " began within %.1f ms, known to ±%.1f ms.</p>\n",
			skew.skew_ms, skew.error_ms);
	}
	document_put(d, "</section>\n");
}

static void number_cell(struct document *d, const json_t *object,
			const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_number(value))
		document_print(d, "<td>%.0f</td>", json_number_value(value));
	else
		document_put(d, "<td>–</td>");
}

static void call_row(struct document *d, const json_t *call)
{
	bool failed = figures_call_failed(call);

	document_print(d, "<tr class=\"%s\">", failed ? "failed" : "passed");
	cell(d, text_of(call, "role"));
	cell(d, text_of(call, "call"));
	cell(d, text_of(call, "peer"));
	cell(d, json_is_true(json_object_get(call, "established"))
			? "established"
			: "not established");
	number_cell(d, call, "pdd_ms");
	number_cell(d, call, "duration_ms");
	cell(d, text_of(call, "reason"));
	document_put(d, "</tr>\n");
}

static void calls(struct document *d, const json_t *report)
{
	const json_t *items = json_object_get(report, "calls");
	const json_t *omitted = json_object_get(report, "calls_omitted");
	size_t more;

	if (!json_array_size(items))
		return;
	document_put(d, "<section class=\"card\"><h3>Calls</h3><table><tr>"
			"<th>Role</th><th>Call</th><th>Peer</th><th></th>"
			"<th>Post-dial delay, ms</th><th>Duration, ms</th>"
			"<th>End</th></tr>\n");
	more = rows(d, items, CALLS_MAX, figures_call_failed, call_row);
	document_put(d, "</table>");
	left_out(d, more + (size_t)json_integer_value(omitted), "calls");
	document_put(d, "</section>\n");
}

static void plots(struct document *d, const json_t *report)
{
	const json_t *series = json_object_get(report, "series");

	if (!json_array_size(series))
		return;
	document_put(d, "<section class=\"card\"><h3>Over time</h3>"
			"<div class=\"plots\">\n");
	for (size_t i = 0; plot_measures[i]; i++)
		plot_write(d, series, plot_measures[i]);
	document_put(d, "</div></section>\n");
}

/* ---- SIP messages ---- */

static void message(struct document *d, const json_t *m)
{
	bool sent = strcmp(text_of(m, "dir"), "sent") == 0;

	document_print(d, "<details><summary><span class=\"t\">%.1f ms</span> ",
		       json_number_value(json_object_get(m, "t_ms")));
	text(d, text_of(m, "role"));
	document_put(d, sent ? " → " : " ← ");
	text(d, text_of(m, "peer"));
	document_put(d, " ");
	text(d, text_of(m, "line"));
	document_put(d, "</summary><pre>");
	document_xml(d, text_of(m, "text"), DOCUMENT_BLOCK_BYTES);
	document_put(d, "</pre></details>\n");
}

static void messages(struct document *d, const json_t *report)
{
	const json_t *items = json_object_get(report, "messages"), *m;
	const json_t *omitted = json_object_get(report, "messages_omitted");
	size_t ceiling = d->out->used + MESSAGES_BYTES;
	size_t i, count = json_array_size(items);

	if (!count)
		return;
	document_put(d, "<section class=\"card\"><h3>SIP messages</h3>\n");
	json_array_foreach(items, i, m)
	{
		if (i == MESSAGES_MAX || d->out->used > ceiling)
			break;
		message(d, m);
	}
	left_out(d, count - i + (size_t)json_integer_value(omitted),
		 "SIP messages");
	document_put(d, "</section>\n");
}

void html_run(struct document *d, const json_t *report, size_t number)
{
	document_print(d, "<article class=\"run\" id=\"run-%zu\">\n",
		       number ? number : 1);
	run_head(d, report, number);
	verdicts(d, report);
	figures(d, report);
	shards(d, report);
	calls(d, report);
	plots(d, report);
	messages(d, report);
	document_put(d, "</article>\n");
}
