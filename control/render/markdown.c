/* A summary for GitHub's job summaries and GitLab's notes. */
#include "base/buf.h"
#include "control/render/figures.h"
#include "control/render/formats.h"
#include "control/render/outcome.h"
#include "control/render/shards.h"
#include "control/wire/text.h"

#include <string.h>

/* With these and ten bytes for each character that is escaped, a run stays
 * below RENDER_MARKDOWN_BYTES. */
#define FAILED_MAX 50
#define CELL_BYTES 200

/* The table of a project's runs ends above this size. */
#define TABLE_BYTES ((size_t)256 << 10)

static const char *mark(enum outcome_kind kind)
{
	switch (kind) {
	case OUTCOME_PASSED:
		return "✅";
	case OUTCOME_FAILED:
		return "❌";
	case OUTCOME_ERRORED:
		return "⚠️";
	case OUTCOME_STOPPED:
		return "⏹️";
	}
	return "";
}

static bool url_plain(const char *url)
{
	return (strncmp(url, "http://", 7) == 0 ||
		strncmp(url, "https://", 8) == 0) &&
	       url[strcspn(url, " <>\\\r\n\t\"`|")] == '\0';
}

static void link_to(struct document *d, const char *url)
{
	if (!url_plain(url))
		return;
	document_put(d, "[Report](<");
	document_put(d, url);
	document_put(d, ">)\n\n");
}

static void cell(struct document *d, const char *text)
{
	document_put(d, "| ");
	document_markdown(d, text[0] ? text : "-", CELL_BYTES);
	document_put(d, " ");
}

/* ---- a project run ---- */

void markdown_begin(struct document *d, const json_t *head)
{
	const json_t *run, *runs = json_object_get(head, "runs");
	enum outcome_kind kind;
	size_t i;

	if (!head)
		return;
	kind = outcome_kind(text_of(head, "run_status"));
	document_print(d, "# %s ", mark(kind));
	document_markdown(d, text_of(head, "project_name"),
			  DOCUMENT_NAME_BYTES);
	document_print(d, ": %s\n\n", outcome_word(kind));
	link_to(d, text_of(head, "report_url"));
	document_put(d, "| | Test | Attempt | Result |\n|---|---|---|---|\n");
	json_array_foreach(runs, i, run)
	{
		const char *result = text_of(run, "result_description");

		if (d->out->used > TABLE_BYTES)
			break;
		kind = outcome_kind(text_of(run, "status"));
		document_print(d, "| %s ", mark(kind));
		cell(d, outcome_test_name(run));
		document_print(
			d, "| %" JSON_INTEGER_FORMAT " ",
			json_integer_value(json_object_get(run, "attempt")));
		cell(d, result[0] ? result : outcome_word(kind));
		document_put(d, "|\n");
	}
	if (i < json_array_size(runs))
		document_print(d, "\n%zu more runs are left out.\n",
			       json_array_size(runs) - i);
	document_put(d, "\n");
}

void markdown_end(struct document *d, size_t left_out)
{
	if (left_out)
		document_print(d,
			       "The details of %zu runs are left out: the "
			       "summary would be too large.\n",
			       left_out);
}

/* ---- a run ---- */

static void failed_conditions(struct document *d, const json_t *report)
{
	const json_t *verdict;
	size_t i, shown = 0, left_out = 0;

	json_array_foreach(json_object_get(report, "verdicts"), i, verdict)
	{
		if (json_is_true(json_object_get(verdict, "passed")))
			continue;
		if (shown == FAILED_MAX) {
			left_out++;
			continue;
		}
		if (shown++ == 0)
			document_put(d, "| Failed condition | Expected | Was | "
					"Call |\n|---|---|---|---|\n");
		cell(d, text_of(verdict, "text"));
		cell(d, text_of(verdict, "expected"));
		cell(d, text_of(verdict, "actual"));
		cell(d, text_of(verdict, "call"));
		document_put(d, "|\n");
	}
	if (left_out)
		document_print(d,
			       "\n%zu more failed conditions are left out.\n",
			       left_out);
	if (shown)
		document_put(d, "\n");
}

/* What changed since the last passed run, a sentence a row. */
static void changes(struct document *d, const json_t *report)
{
	const json_t *list = json_object_get(report, "differences"), *one;
	size_t i;

	if (!json_array_size(list))
		return;
	document_put(d, "| What changed since the last passed run |\n|---|\n");
	json_array_foreach(list, i, one)
	{
		cell(d, text_of(one, "sentence"));
		document_put(d, "|\n");
	}
	document_put(d, "\n");
}

/* @param bound  of the average; all zero: none */
static void average_max(struct document *d, const struct figure *f,
			const struct figure *bound)
{
	char error[FIGURES_BOUND_BYTES];

	if (f->n)
		document_print(d, "| %.2f%s / %.2f ", figure_average(f),
			       figure_bound(error, f, bound), f->max);
	else
		document_put(d, "| - ");
}

static void role_row(struct document *d, const struct role_figures *r)
{
	static const struct figure no_bound;
	char error[FIGURES_BOUND_BYTES];

	cell(d, r->role);
	if (r->registrations)
		document_print(d, "| %zu of %zu ", r->registered,
			       r->registrations);
	else
		document_put(d, "| - ");
	document_print(d, "| %zu of %zu ", r->established, r->calls);
	average_max(d, &r->pdd_ms, &no_bound);
	if (r->mos.n)
		document_print(d, "| %.2f / %.2f%s%s ", r->mos.min,
			       figure_average(&r->mos),
			       r->mos_scale[0] ? " " : "", r->mos_scale);
	else
		document_put(d, "| - ");
	if (r->loss_pct.n)
		document_print(
			d, "| %.2f%s ", r->loss_pct.max,
			figure_bound(error, &r->loss_pct, &r->loss_bound_pct));
	else
		document_put(d, "| - ");
	average_max(d, &r->jitter_ms, &r->jitter_bound_ms);
	average_max(d, &r->rtt_ms, &r->rtt_bound_ms);
	document_put(d, "|\n");
}

static void figures(struct document *d, const json_t *report)
{
	struct role_figures roles[FIGURES_ROLES_MAX];
	size_t count = figures_collect(roles, report);
	char note[FIGURES_NOTE_BYTES];

	if (!count)
		return;
	document_put(d, "| Role | Registered | Established | PDD avg / max, ms "
			"| MOS min / avg | Loss max, % | Jitter avg / max, ms "
			"| RTT avg / max, ms |\n"
			"|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++)
		role_row(d, &roles[i]);
	document_put(d, "\n");
	if (figures_note(note, report)[0])
		document_print(d, "%s\n\n", note);
}

static void shard_row(struct document *d, const json_t *shard)
{
	struct shard_cells c;

	shard_cells_of(&c, shard);
	for (size_t i = 0; i < SHARD_COLUMNS; i++)
		cell(d, c.all[i]);
	document_put(d, "|\n");
}

static void shards(struct document *d, const json_t *report)
{
	const json_t *list = json_object_get(report, "shards"), *shard;
	struct shard_skew skew;
	size_t i, at = 0;

	if (!json_array_size(list))
		return;
	document_put(d, "| Role | Shard | Agent | State | Calls | Calls/s "
			"| Began, ms after the first | Clock error, ms |\n"
			"|---|---|---|---|---|---|---|---|\n");
	json_array_foreach(list, i, shard) shard_row(d, shard);
	document_put(d, "\n");
	while (shard_skew_next(&skew, list, &at)) {
		document_put(d, "The shards of ");
		document_markdown(d, skew.role, DOCUMENT_NAME_BYTES);
		document_print(d,
			       " began within %.1f ms, known to ±%.1f ms.\n\n",
			       skew.skew_ms, skew.error_ms);
	}
}

static void facts(struct document *d, const json_t *run,
		  const struct outcome *outcome)
{
	const json_t *attempt = json_object_get(run, "attempt");

	if (text_of(run, "started_at")[0]) {
		document_put(d, "Started ");
		document_markdown(d, text_of(run, "started_at"),
				  DOCUMENT_NAME_BYTES);
		document_put(d, " UTC");
		if (outcome->has_duration)
			document_print(d, ", %.0f s", outcome->duration_s);
		if (json_integer_value(attempt) > 1)
			document_print(d, ", attempt %" JSON_INTEGER_FORMAT,
				       json_integer_value(attempt));
		document_put(d, ".");
	}
	if (text_of(run, "session_id")[0]) {
		document_put(d, " Run ");
		document_markdown(d, text_of(run, "session_id"),
				  DOCUMENT_NAME_BYTES);
		document_put(d, ".");
	}
	document_put(d, "\n\n");
}

static void quote(struct document *d, const char *text)
{
	document_put(d, "> ");
	document_markdown(d, text, DOCUMENT_SENTENCE_BYTES);
	document_put(d, "\n\n");
}

/* The warnings that the start of the run answered with. */
static void warnings(struct document *d, const json_t *run)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(run, "warnings"), i, one)
	{
		document_put(d, "> Warning: ");
		document_markdown(d, json_string_value(one),
				  DOCUMENT_SENTENCE_BYTES);
		document_put(d, "\n\n");
	}
}

/* What is not there is said, so that nobody takes it for nothing. */
static void missing(struct document *d, const json_t *run)
{
	char removed[OUTCOME_REMOVED_BYTES], reduced[OUTCOME_REDUCED_BYTES];

	if (outcome_reduced(reduced, run))
		quote(d, reduced);
	if (outcome_removed(removed, run))
		quote(d, removed);
}

void markdown_run(struct document *d, const json_t *report, size_t number)
{
	const json_t *run = json_object_get(report, "run");
	const char *result = text_of(run, "result_description");
	char text[OUTCOME_TEXT_BYTES];
	struct outcome outcome;

	outcome_of(&outcome, report);
	outcome_text(text, &outcome);
	document_print(d, "%s %s ", number ? "##" : "#", mark(outcome.kind));
	document_markdown(d, outcome_test_name(run), DOCUMENT_NAME_BYTES);
	document_print(d, ": %s\n\n%s: %s.\n\n", outcome_word(outcome.kind),
		       outcome_word(outcome.kind), text);
	/* the sentences of failed conditions say what the table says */
	if (result[0] && (outcome.kind != OUTCOME_FAILED || !outcome.failed))
		quote(d, result);
	if (outcome.kind != OUTCOME_ERRORED)
		failed_conditions(d, report);
	changes(d, report);
	warnings(d, run);
	missing(d, run);
	figures(d, report);
	shards(d, report);
	facts(d, run, &outcome);
	link_to(d, text_of(run, "report_url"));
}
