#include "control/cli/run/run_result.h"

#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/render/outcome.h"
#include "control/wire/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 200
#define WORD_BYTES 20
#define SHOWN_MAX  100 /* conditions and runs that are listed */

static void put(const char *text)
{
	terminal_print(stdout, text, 0);
}

/* ---- verdicts ---- */

int run_result_exit(const char *state)
{
	if (strcmp(state, "passed") == 0)
		return CLI_EXIT_OK;
	return strcmp(state, "failed") == 0 ? CLI_EXIT_FAILED
					    : CLI_EXIT_ERRORED;
}

/* Print a state, coloured on a terminal. @param width  columns, padded */
static void print_state(const char *state, int width)
{
	static const char *const colours[] = {
		[CLI_EXIT_OK] = "\033[32m",
		[CLI_EXIT_FAILED] = "\033[31m",
		[CLI_EXIT_ERRORED] = "\033[33m",
	};
	bool colour = terminal_colour(stdout);
	int padding = width - (int)terminal_columns(state);

	if (colour)
		fputs(colours[run_result_exit(state)], stdout);
	put(state);
	if (colour)
		fputs("\033[0m", stdout);
	printf("%*s", padding > 0 ? padding : 0, "");
}

/* "FAILED: NAME, attempt 2: SENTENCE" */
static void print_headline(const char *state, const char *name,
			   json_int_t attempt, const char *sentence)
{
	char word[WORD_BYTES];
	size_t i;

	for (i = 0; state[i] && i + 1 < sizeof(word); i++)
		word[i] = (char)toupper((unsigned char)state[i]);
	word[i] = '\0';
	if (terminal_colour(stdout))
		printf("\033[1m");
	put(word);
	if (terminal_colour(stdout))
		printf("\033[0m");
	fputs(": ", stdout);
	put(name);
	if (attempt > 1)
		printf(", attempt %" JSON_INTEGER_FORMAT, attempt);
	if (sentence[0]) {
		fputs(": ", stdout);
		put(sentence);
	}
	putchar('\n');
}

static void print_condition(const json_t *verdict)
{
	bool passed = json_is_true(json_object_get(verdict, "passed"));

	fputs("  ", stdout);
	print_state(passed ? "passed"
		    : json_is_true(json_object_get(verdict, "undecided"))
			    ? "errored"
			    : "failed",
		    8);
	put(text_of(verdict, "text"));
	if (text_of(verdict, "expected")[0] || text_of(verdict, "actual")[0]) {
		fputs("\n          expected ", stdout);
		put(text_of(verdict, "expected"));
		fputs(", was ", stdout);
		put(text_of(verdict, "actual"));
	}
	if (text_of(verdict, "call")[0]) {
		fputs(", call ", stdout);
		put(text_of(verdict, "call"));
	}
	putchar('\n');
}

static void print_conditions(const json_t *verdicts)
{
	const json_t *verdict;
	size_t i, shown = 0;

	/* those that failed first, so that none is left out for others */
	for (int failed = 1; failed >= 0; failed--)
		json_array_foreach(verdicts, i, verdict)
		{
			bool bad = !json_is_true(
				json_object_get(verdict, "passed"));

			if ((int)bad == failed && shown < SHOWN_MAX) {
				print_condition(verdict);
				shown++;
			}
		}
	if (shown < json_array_size(verdicts))
		printf("  %zu more conditions: see the report\n",
		       json_array_size(verdicts) - shown);
}

/* ---- figures ---- */

struct figure {
	const char *measure, *title, *unit;
	const char *dir; /* NULL: both */
	bool highest;    /* the worst is the highest value, else the lowest */
	int digits;      /* of the mean */
};

static bool decimal(const json_t *row, const char *member, double *ret)
{
	return str_to_double(text_of(row, member), ret) == 0;
}

/* Mean and worst value of a role and direction, from row `at` on that is its
 * first one. */
static void print_figure(const struct figure *f, const json_t *rows, size_t at)
{
	const json_t *first = json_array_get(rows, at), *row;
	double sum = 0, worst = 0, value, edge, bound;
	size_t n = 0;

	for (size_t i = at; (row = json_array_get(rows, i)); i++) {
		if (strcmp(text_of(row, "role"), text_of(first, "role")) != 0 ||
		    strcmp(text_of(row, "dir"), text_of(first, "dir")) != 0 ||
		    !decimal(row, "avg", &value) ||
		    !decimal(row, f->highest ? "max" : "min", &edge))
			continue;
		sum += value;
		if (n == 0 || (f->highest ? edge > worst : edge < worst))
			worst = edge;
		n++;
	}
	if (!n)
		return;
	printf("  %s, ", f->title);
	put(text_of(first, "role"));
	if (!f->highest)
		printf(" %s", strcmp(text_of(first, "dir"), "out") == 0
				      ? "sent"
				      : "received");
	printf(": mean %.*f", f->digits, sum / (double)n);
	if (decimal(first, "bound", &bound))
		printf(" ± %.2f", ceil(bound * 100 - 1e-9) / 100);
	printf("%s, %s %.*f%s\n", f->unit, f->highest ? "highest" : "lowest",
	       f->digits, worst, f->unit);
}

static bool is_first(const json_t *rows, size_t at)
{
	const json_t *row = json_array_get(rows, at);

	for (size_t i = 0; i < at; i++) {
		const json_t *other = json_array_get(rows, i);

		if (json_equal(json_object_get(row, "role"),
			       json_object_get(other, "role")) &&
		    json_equal(json_object_get(row, "dir"),
			       json_object_get(other, "dir")))
			return false;
	}
	return true;
}

/* Print a measure of all roles. What was not measured is left out. */
static void print_measure(struct client *c, const char *run,
			  const struct figure *f)
{
	char path[PATH_BYTES], reason[REMOTE_REASON_BYTES];
	struct remote_answer a;
	const json_t *rows;

	str_print(path, sizeof(path), "/runs/%s/stats/%s%s%s", run, f->measure,
		  f->dir ? "?dir=" : "", f->dir ? f->dir : "");
	if (remote_call_json(client_remote(c), "GET", path, NULL, NULL, &a,
			     reason))
		return;
	rows = json_object_get(a.body, "stats_data");
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (is_first(rows, i))
			print_figure(f, rows, i);
	remote_answer_release(&a);
}

static void print_link(const char *url)
{
	if (!url || !url[0])
		return;
	fputs("Report: ", stdout);
	put(url);
	putchar('\n');
}

/* What is not there any more is said, so that nobody takes it for nothing. */
static void print_removed(const json_t *run)
{
	static const char *const kinds[][2] = {
		{"metrics_removed_at", "metrics"},
		{"sip_removed_at", "SIP messages"},
		{"artifacts_removed_at", "recordings and other files"},
	};
	const char *thinned = text_of(run, "metrics_thinned_at");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *at = text_of(run, kinds[i][0]);

		if (at[0])
			printf("%s were deleted on %.19s (UTC): retention\n",
			       kinds[i][1], at);
	}
	if (thinned[0] && !text_of(run, "metrics_removed_at")[0])
		printf("metrics were merged to intervals of %" JSON_INTEGER_FORMAT
		       " s on %.19s (UTC): retention\n",
		       json_integer_value(json_object_get(run, "interval_s")),
		       thinned);
}

/* What the start of the run warned of. */
static void print_warnings(const json_t *run)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(run, "warnings"), i, one)
	{
		fputs("Warning: ", stdout);
		put(json_string_value(one) ? json_string_value(one) : "");
		putchar('\n');
	}
}

static void print_reduced(const json_t *run)
{
	char text[OUTCOME_REDUCED_BYTES];

	if (outcome_reduced(text, run))
		printf("%s\n", text);
}

void run_result_print(struct client *c, const json_t *run)
{
	static const struct figure figures[] = {
		{"rtp_mos", "MOS", "", NULL, false, 2},
		{"rtp_lost_pct", "loss received", " %", "in", true, 2},
		{"rtp_jitter", "jitter received", " ms", "in", true, 2},
		{"rtp_rtt", "round trip", " ms", "out", true, 2},
		{"sip_pdd", "post-dial delay", " ms", NULL, true, 0},
	};

	print_headline(text_of(run, "status"), text_of(run, "test_name"),
		       json_integer_value(json_object_get(run, "attempt")),
		       text_of(run, "result_description"));
	print_conditions(json_object_get(run, "verdicts"));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		print_measure(c, text_of(run, "session_id"), &figures[i]);
	print_warnings(run);
	print_reduced(run);
	print_removed(run);
	print_link(text_of(run, "report_url"));
}

/* ---- a project run ---- */

void run_result_print_project(const char *name, const json_t *run,
			      const char *report_url)
{
	const json_t *runs = json_object_get(run, "runs"), *one;
	char sentence[WORD_BYTES * 6];
	size_t i;

	str_print(sentence, sizeof(sentence),
		  "%lld of %lld tests passed, %lld failed",
		  (long long)json_integer_value(
			  json_object_get(run, "tests_passed")),
		  (long long)json_integer_value(
			  json_object_get(run, "total_tests")),
		  (long long)json_integer_value(
			  json_object_get(run, "tests_failed")));
	print_headline(text_of(run, "run_status"), name, 1, sentence);
	json_array_foreach(runs, i, one)
	{
		const char *result = text_of(one, "result_description");

		if (i == SHOWN_MAX)
			break;
		fputs("  ", stdout);
		print_state(text_of(one, "status"), 8);
		put(text_of(one, "test_name"));
		if (result[0])
			fputs(": ", stdout);
		put(result);
		putchar('\n');
	}
	if (i < json_array_size(runs))
		printf("  %zu more runs: see the report\n",
		       json_array_size(runs) - i);
	print_link(report_url);
}
