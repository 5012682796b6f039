#include "control/cli/run/run_compare.h"

#include "base/str.h"
#include "control/cli/common/table.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/ladder.h"
#include "control/cli/run/run_stats.h"
#include "control/render/figures.h"
#include "control/wire/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIFF_LINES_MAX 1000 /* of a dialog; of a longer one the rest is cut */

/* ---- conditions ---- */

static bool same_condition(const json_t *a, const json_t *b)
{
	return strcmp(text_of(a, "role"), text_of(b, "role")) == 0 &&
	       strcmp(text_of(a, "text"), text_of(b, "text")) == 0;
}

/* What of a verdict is compared. @return null: there is none */
static json_t *result_of(const json_t *verdict)
{
	if (!verdict)
		return json_null();
	return json_pack("{s:b, s:s, s:s}", "passed",
			 json_is_true(json_object_get(verdict, "passed")),
			 "expected", text_of(verdict, "expected"), "actual",
			 text_of(verdict, "actual"));
}

/* @return false: both are the same */
static bool add_condition(json_t *list, const json_t *a, const json_t *b)
{
	json_t *before = result_of(a), *after = result_of(b);
	bool differ = !json_equal(before, after);

	if (differ)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:O, s:O}", "role",
					text_of(a ? a : b, "role"), "text",
					text_of(a ? a : b, "text"), "before",
					before, "after", after));
	json_decref(before);
	json_decref(after);
	return differ;
}

static void compare_conditions(json_t *ret, const json_t *before,
			       const json_t *after)
{
	const json_t *a, *b;
	json_t *list = json_array(), *rest, *verdicts;
	json_int_t alike = 0;
	size_t i, k;

	verdicts = json_object_get(after, "verdicts");
	rest = json_is_array(verdicts) ? json_copy(verdicts) : json_array();
	json_array_foreach(json_object_get(before, "verdicts"), i, a)
	{
		for (k = 0; (b = json_array_get(rest, k)); k++)
			if (same_condition(a, b))
				break;
		alike += !add_condition(list, a, b);
		if (b)
			json_array_remove(rest, k);
	}
	json_array_foreach(rest, i, b)
	{
		(void)add_condition(list, NULL, b);
	}
	json_decref(rest);
	json_object_set_new(ret, "conditions", list);
	json_object_set_new(ret, "conditions_alike", json_integer(alike));
}

/* ---- figures ---- */

enum figure_value {
	FIGURE_MIN,
	FIGURE_AVERAGE,
	FIGURE_MAX,
};

static json_t *figure_value(const struct figure *f, enum figure_value value)
{
	if (!f->n)
		return NULL;
	return json_real(value == FIGURE_MIN   ? f->min
			 : value == FIGURE_MAX ? f->max
					       : figure_average(f));
}

/* Add a row where one of the runs has the figure. References are taken.
 * @return the row, borrowed; NULL: there is none */
static json_t *add_figure(json_t *rows, const char *role, const char *name,
			  json_t *before, json_t *after)
{
	json_t *row = NULL;

	if (before || after) {
		row = json_pack("{s:s, s:s, s:O?, s:O?}", "role", role,
				"figure", name, "before", before, "after",
				after);
		json_array_append_new(rows, row);
	}
	json_decref(before);
	json_decref(after);
	return row;
}

/* Add the error bounds to a row. Where two figures lie no farther apart than their bounds
 * together, they may be the same: `within_bounds`. */
static void add_bounds(json_t *row, bool has_before, double before,
		       bool has_after, double after)
{
	const json_t *a = json_object_get(row, "before");
	const json_t *b = json_object_get(row, "after");

	if (has_before)
		json_object_set_new(row, "bound_before", json_real(before));
	if (has_after)
		json_object_set_new(row, "bound_after", json_real(after));
	if (has_before && has_after)
		json_object_set_new(row, "within_bounds",
				    json_boolean(fabs(json_number_value(b) -
						      json_number_value(a)) <=
						 before + after));
}

static json_t *count_of(size_t count, bool shown)
{
	return shown ? json_integer((json_int_t)count) : NULL;
}

/* "1.84 ± 0.05" */
static json_t *bounded_text(const json_t *value, const json_t *bound)
{
	json_t *number = run_stats_number(value), *text;

	if (!json_is_string(number) || !json_is_number(bound))
		return number;
	text = json_sprintf("%s ± %.2f", json_string_value(number),
			    json_number_value(bound));
	json_decref(number);
	return text;
}

/* @param a, b  NULL: the run does not have the role */
static void compare_role(json_t *rows, const struct role_figures *a,
			 const struct role_figures *b)
{
	static const struct role_figures none = {.role = ""};
	static const struct figure no_bound;
	const char *role = a ? a->role : b->role;
	bool calls, accounts;

	a = a ? a : &none;
	b = b ? b : &none;
	calls = a->calls || b->calls;
	accounts = a->registrations || b->registrations;
	const struct {
		const char *name;
		const struct figure *before, *after;
		enum figure_value value;
		const struct figure *bound_before, *bound_after;
	} figures[] = {
		{"registration, mean ms", &a->register_ms, &b->register_ms,
		 FIGURE_AVERAGE, &no_bound, &no_bound},
		{"post-dial delay, mean ms", &a->pdd_ms, &b->pdd_ms,
		 FIGURE_AVERAGE, &no_bound, &no_bound},
		{"post-dial delay, highest ms", &a->pdd_ms, &b->pdd_ms,
		 FIGURE_MAX, &no_bound, &no_bound},
		{"MOS received, lowest", &a->mos, &b->mos, FIGURE_MIN,
		 &no_bound, &no_bound},
		{"MOS received, mean", &a->mos, &b->mos, FIGURE_AVERAGE,
		 &no_bound, &no_bound},
		{"loss received, highest %", &a->loss_pct, &b->loss_pct,
		 FIGURE_MAX, &a->loss_bound_pct, &b->loss_bound_pct},
		{"jitter, highest mean ms", &a->jitter_ms, &b->jitter_ms,
		 FIGURE_MAX, &a->jitter_bound_ms, &b->jitter_bound_ms},
		{"round trip, highest mean ms", &a->rtt_ms, &b->rtt_ms,
		 FIGURE_MAX, &a->rtt_bound_ms, &b->rtt_bound_ms},
	};

	add_figure(rows, role, "calls", count_of(a->calls, calls),
		   count_of(b->calls, calls));
	add_figure(rows, role, "calls that failed", count_of(a->failed, calls),
		   count_of(b->failed, calls));
	add_figure(rows, role, "accounts registered",
		   count_of(a->registered, accounts),
		   count_of(b->registered, accounts));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		double before = 0, after = 0;
		json_t *row = add_figure(
			rows, role, figures[i].name,
			figure_value(figures[i].before, figures[i].value),
			figure_value(figures[i].after, figures[i].value));
		bool has_before = figure_bound_value(
			figures[i].before, figures[i].bound_before, &before);
		bool has_after = figure_bound_value(
			figures[i].after, figures[i].bound_after, &after);

		add_bounds(row, has_before, before, has_after, after);
	}
}

static const struct role_figures *role_find(const struct role_figures *roles,
					    size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(roles[i].role, name) == 0)
			return &roles[i];
	return NULL;
}

static void compare_figures(json_t *ret, const json_t *before,
			    const json_t *after)
{
	struct role_figures a[FIGURES_ROLES_MAX], b[FIGURES_ROLES_MAX];
	size_t a_count = figures_collect(a, before);
	size_t b_count = figures_collect(b, after);
	json_t *rows = json_array();

	for (size_t i = 0; i < a_count; i++)
		compare_role(rows, &a[i], role_find(b, b_count, a[i].role));
	for (size_t i = 0; i < b_count; i++)
		if (!role_find(a, a_count, b[i].role))
			compare_role(rows, NULL, &b[i]);
	json_object_set_new(ret, "figures", rows);
}

/* ---- messages ---- */

/* The lines of a signature: each begins at its offset and ends with '\n'. */
struct lines {
	const char *text;
	size_t at[DIFF_LINES_MAX + 1];
	size_t count;
};

static void split(struct lines *l, const char *text)
{
	l->text = text;
	l->count = 0;
	l->at[0] = 0;
	while (text[l->at[l->count]] && l->count < DIFF_LINES_MAX) {
		size_t at = l->at[l->count];

		l->at[++l->count] = at + strcspn(text + at, "\n") + 1;
	}
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b,
		      size_t k)
{
	size_t len = a->at[i + 1] - a->at[i];

	return len == b->at[k + 1] - b->at[k] &&
	       memcmp(a->text + a->at[i], b->text + b->at[k], len) == 0;
}

static void add_line(json_t *list, const char *mark, const struct lines *l,
		     size_t i)
{
	json_array_append_new(list,
			      json_sprintf("%s %.*s", mark,
					   (int)(l->at[i + 1] - l->at[i] - 1),
					   l->text + l->at[i]));
}

/* Compare two dialogs line by line: the longest common subsequence.
 * @return new array; NULL: out of memory */
static json_t *diff(const char *before, const char *after)
{
	struct lines *l = calloc(2, sizeof(*l)), *a = l, *b;
	uint16_t *longest;
	json_t *list;
	size_t i, k, row;

	if (!l)
		return NULL;
	b = &l[1];
	split(a, before);
	split(b, after);
	row = b->count + 1;
	longest = calloc((a->count + 1) * row, sizeof(*longest));
	list = json_array();
	if (!longest || !list) {
		free(longest);
		free(l);
		json_decref(list);
		return NULL;
	}
	for (i = a->count; i-- > 0;)
		for (k = b->count; k-- > 0;) {
			uint16_t down = longest[(i + 1) * row + k];
			uint16_t right = longest[i * row + k + 1];

			longest[i * row + k] =
				same_line(a, i, b, k)
					? (uint16_t)(longest[(i + 1) * row + k +
							     1] +
						     1)
				: down > right ? down
					       : right;
		}
	for (i = k = 0; i < a->count || k < b->count;) {
		if (i < a->count && k < b->count && same_line(a, i, b, k)) {
			add_line(list, " ", a, i++);
			k++;
		} else if (i < a->count && (k == b->count ||
					    longest[(i + 1) * row + k] >=
						    longest[i * row + k + 1])) {
			add_line(list, "-", a, i++);
		} else {
			add_line(list, "+", b, k++);
		}
	}
	free(longest);
	free(l);
	return list;
}

/* @param a, b  dialogs of ladder_fold(); NULL: the run does not have it */
static void add_dialogs(json_t *list, const json_t *a, const json_t *b)
{
	json_array_append_new(
		list,
		json_pack("{s:I, s:I, s:o}", "dialogs_before",
			  json_integer_value(json_object_get(a, "dialogs")),
			  "dialogs_after",
			  json_integer_value(json_object_get(b, "dialogs")),
			  "lines",
			  diff(text_of(a, "signature"),
			       text_of(b, "signature"))));
}

/* Take a dialog with this signature out of a list. @return new reference; NULL */
static json_t *take_same(json_t *dialogs, const char *signature)
{
	json_t *dialog;
	size_t i;

	json_array_foreach(dialogs, i, dialog)
	{
		if (strcmp(text_of(dialog, "signature"), signature) != 0)
			continue;
		json_incref(dialog);
		json_array_remove(dialogs, i);
		return dialog;
	}
	return NULL;
}

static bool compare_messages(json_t *ret, const json_t *before,
			     const json_t *after)
{
	json_t *a = ladder_fold(json_object_get(before, "messages"));
	json_t *b = ladder_fold(json_object_get(after, "messages"));
	json_t *list = json_array(), *only = json_array(), *dialog, *same;
	json_int_t alike = 0;
	bool complete;
	size_t i, rest;

	json_array_foreach(a, i, dialog)
	{
		same = take_same(b, text_of(dialog, "signature"));
		if (!same)
			json_array_append(only, dialog);
		else if (json_equal(json_object_get(dialog, "dialogs"),
				    json_object_get(same, "dialogs")))
			alike += json_integer_value(
				json_object_get(same, "dialogs"));
		else
			add_dialogs(list, dialog, same);
		json_decref(same);
	}
	/* those without a counterpart are compared in the order of time */
	rest = json_array_size(only) > json_array_size(b)
		       ? json_array_size(only)
		       : json_array_size(b);
	for (i = 0; i < rest; i++)
		add_dialogs(list, json_array_get(only, i),
			    json_array_get(b, i));
	json_object_set_new(ret, "messages", list);
	json_object_set_new(ret, "dialogs_alike", json_integer(alike));
	json_decref(only);
	complete = a && b;
	json_decref(a);
	json_decref(b);
	return complete;
}

/* ---- the whole ---- */

bool run_compare_alike(const json_t *differences)
{
	const json_t *runs = json_object_get(differences, "runs"), *c;
	size_t i;

	if (strcmp(text_of(json_array_get(runs, 0), "status"),
		   text_of(json_array_get(runs, 1), "status")) != 0)
		return false;
	json_array_foreach(json_object_get(differences, "conditions"), i, c)
	{
		/* NULL: only one of the runs has the condition */
		const json_t *before =
			json_object_get(json_object_get(c, "before"), "passed");
		const json_t *after =
			json_object_get(json_object_get(c, "after"), "passed");

		if (!before || !after ||
		    json_is_true(before) != json_is_true(after))
			return false;
	}
	return true;
}

static json_t *head_of(const json_t *report)
{
	const json_t *run = json_object_get(report, "run");
	const char *test = text_of(run, "test_name");

	return json_pack("{s:O?, s:s, s:s, s:s, s:O?}", "id",
			 json_object_get(run, "id"), "session_id",
			 text_of(run, "session_id"), "status",
			 text_of(run, "status"), "test_name",
			 test[0] ? test : text_of(run, "testcase_name"),
			 "started_at", json_object_get(run, "started_at"));
}

json_t *run_compare(const json_t *before, const json_t *after)
{
	json_t *ret = json_pack("{s:[o, o]}", "runs", head_of(before),
				head_of(after));

	if (!ret)
		return NULL;
	compare_conditions(ret, before, after);
	compare_figures(ret, before, after);
	if (!compare_messages(ret, before, after)) {
		json_decref(ret);
		return NULL;
	}
	json_object_set_new(ret, "alike", json_boolean(run_compare_alike(ret)));
	return ret;
}

/* ---- as text ---- */

static void print_heads(FILE *out, const json_t *runs)
{
	const json_t *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		fprintf(out, "%s run %lld of ", i ? "+" : "-",
			(long long)json_integer_value(
				json_object_get(run, "id")));
		terminal_print(out, text_of(run, "test_name"), 0);
		fputs(": ", out);
		terminal_print(out, text_of(run, "status"), 0);
		if (text_of(run, "started_at")[0])
			fprintf(out, ", %s UTC", text_of(run, "started_at"));
		fputc('\n', out);
	}
}

/* Print "  - failed, expected X, was Y". */
static void print_result(FILE *out, char mark, const json_t *result,
			 size_t width)
{
	char text[512];
	const char *expected = text_of(result, "expected");

	if (json_is_null(result))
		str_print(text, sizeof(text), "no such condition");
	else if (str_print(text, sizeof(text), "%s%s%s%s%s",
			   json_is_true(json_object_get(result, "passed"))
				   ? "passed"
				   : "failed",
			   expected[0] ? ", expected " : "", expected,
			   text_of(result, "actual")[0] ? ", was " : "",
			   text_of(result, "actual")) < 0)
		str_utf8_repair(text);
	fprintf(out, "  %c ", mark);
	table_wrap(out, text, 4, 6, width);
}

static void print_conditions(FILE *out, const json_t *d, size_t width)
{
	const json_t *conditions = json_object_get(d, "conditions"), *c;
	long long alike = (long long)json_integer_value(
		json_object_get(d, "conditions_alike"));
	size_t i;

	fprintf(out, "\nConditions: %zu differ, %lld are alike\n",
		json_array_size(conditions), alike);
	json_array_foreach(conditions, i, c)
	{
		size_t at = terminal_print(out, text_of(c, "role"), 0);

		if (at) {
			fputs(": ", out);
			at += 2;
		}
		table_wrap(out, text_of(c, "text"), at, 2, width);
		print_result(out, '-', json_object_get(c, "before"), width);
		print_result(out, '+', json_object_get(c, "after"), width);
	}
}

static void print_figures(FILE *out, const json_t *figures, size_t width)
{
	static const struct table_column columns[] = {
		{"role", false}, {"figure", false}, {"before", true},
		{"after", true}, {"change", true},
	};
	json_t *rows = json_array();
	const json_t *f;
	size_t i;

	json_array_foreach(figures, i, f)
	{
		json_t *a = json_object_get(f, "before");
		json_t *b = json_object_get(f, "after");
		json_t *change = NULL;

		if (json_is_number(a) && json_is_number(b))
			change = json_real(json_number_value(b) -
					   json_number_value(a));
		json_array_append_new(
			rows,
			json_pack("[s, s, o, o, o]", text_of(f, "role"),
				  text_of(f, "figure"),
				  bounded_text(a, json_object_get(
							  f, "bound_before")),
				  bounded_text(
					  b, json_object_get(f, "bound_after")),
				  json_is_true(
					  json_object_get(f, "within_bounds"))
					  ? json_string("within bounds")
					  : run_stats_number(change)));
		json_decref(change);
	}
	fputs("\nFigures\n", out);
	if (json_array_size(rows))
		table_print(out, columns, sizeof(columns) / sizeof(*columns),
			    rows, width);
	else
		fputs("neither run has any\n", out);
	json_decref(rows);
}

static void print_messages(FILE *out, const json_t *d, size_t width)
{
	const json_t *messages = json_object_get(d, "messages"), *m, *line;
	size_t i, k;

	fprintf(out,
		"\nSIP messages: %zu differences, %lld dialogs are alike\n",
		json_array_size(messages),
		(long long)json_integer_value(
			json_object_get(d, "dialogs_alike")));
	json_array_foreach(messages, i, m)
	{
		fprintf(out,
			"Dialogs with these messages: %lld before, %lld "
			"after\n",
			(long long)json_integer_value(
				json_object_get(m, "dialogs_before")),
			(long long)json_integer_value(
				json_object_get(m, "dialogs_after")));
		json_array_foreach(json_object_get(m, "lines"), k, line)
		{
			terminal_print(out, json_string_value(line), width);
			fputc('\n', out);
		}
	}
}

/* Print what the controller says has changed. */
static void print_sentences(FILE *out, const json_t *d, size_t width)
{
	const json_t *list = json_object_get(d, "differences"), *one;
	json_int_t further = json_integer_value(json_object_get(d, "further"));
	size_t i;

	if (!list)
		return;
	fputs("\nWhat changed\n", out);
	json_array_foreach(list, i, one)
	{
		fprintf(out, "%zu. ", i + 1);
		table_wrap(out, text_of(one, "sentence"), 3, 3, width);
	}
	if (further)
		fprintf(out, "and %lld more\n", (long long)further);
	if (!json_array_size(list))
		fputs("nothing that is more than chance\n", out);
	json_array_foreach(json_object_get(d, "not_compared"), i, one)
	{
		table_wrap(out, json_string_value(one), 0, 0, width);
	}
}

void run_compare_print(FILE *out, const json_t *differences, size_t width)
{
	print_heads(out, json_object_get(differences, "runs"));
	print_sentences(out, differences, width);
	print_conditions(out, differences, width);
	print_figures(out, json_object_get(differences, "figures"), width);
	print_messages(out, differences, width);
	fputs(run_compare_alike(differences)
		      ? "\nThe verdict and the outcome of each condition are the "
			"same\n"
		      : "\nThe verdict or the outcome of a condition differs\n",
	      out);
}
