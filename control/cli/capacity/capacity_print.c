#include "control/cli/capacity/capacity_print.h"

#include "control/capacity/capacity_result.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"

static void put(FILE *out, const char *text)
{
	terminal_print(out, text, 0);
}

static void print_limit(FILE *out, const struct capacity_result *o,
			const struct search_result *r)
{
	const char *cause = capacity_result_cause(o, r);
	const char *sentence = capacity_result_sentence(o, r);

	if (r->limit == SEARCH_LIMIT_ABOVE || (!cause[0] && !sentence[0]))
		return;
	fputs(r->limit == SEARCH_LIMIT_TESTER
		      ? "Limited by the tester, the target can do more"
		      : "Limited by the target",
	      out);
	if (cause[0]) {
		fputs(": ", out);
		put(out, cause);
	}
	fputs("\n  ", out);
	put(out, sentence);
	fputc('\n', out);
}

void capacity_print(FILE *out, const struct capacity_result *o)
{
	char text[CAPACITY_TEXT_BYTES];
	struct search_result r;
	size_t count;

	search_result(o->search, &r);
	(void)search_trials(o->search, &count);
	capacity_result_text(o, &r, text);
	fputs("Capacity of ", out);
	put(out, o->test);
	fprintf(out, ": %s (95 %% confidence, %zu trial%s)\n", text, count,
		count == 1 ? "" : "s");
	print_limit(out, o, &r);
	if (r.not_monotone)
		fputs("A higher load held and a lower one failed: the result "
		      "is about the lower one\n",
		      out);
	if (o->broken_off) {
		fputs("The search is not complete: ", out);
		put(out, o->broken_off);
		fputc('\n', out);
	} else if (!r.reached) {
		fprintf(out,
			"The interval is wider than %.10g %%: the limit is not "
			"sharp (its spread is about %.0f %%); longer trials or "
			"a higher --max-trials may help\n",
			100 * o->params->width, 100 * r.spread);
	}
	if (o->least > 0)
		fprintf(out, "At least %.10g %s were asked for: %s\n", o->least,
			capacity_result_unit(o->is_rate),
			capacity_print_exit(o) == CLI_EXIT_OK ? "reached"
			: capacity_print_exit(o) == CLI_EXIT_FAILED
				? "not reached"
				: "not known");
}

json_t *capacity_print_json(const struct capacity_result *o)
{
	return json_pack(
		"{s:s, s:s, s:{s:f, s:f, s:f, s:i, s:i}, s:f, s:o, s:o, s:s?}",
		"test", o->test, "unit",
		o->is_rate ? "calls_per_second" : "concurrent_calls", "search",
		"min", o->params->min, "max", o->params->max, "width_percent",
		100 * o->params->width, "repeats", (int)o->params->repeats,
		"max_trials", (int)o->params->trials_max, "seconds", o->seconds,
		"trials", capacity_result_trials(o), "result",
		capacity_result_json(o), "broken_off", o->broken_off);
}

int capacity_print_exit(const struct capacity_result *o)
{
	struct search_result r;

	search_result(o->search, &r);
	if (o->broken_off || !r.reached)
		return CLI_EXIT_ERRORED;
	if (r.limit == SEARCH_LIMIT_BELOW)
		return CLI_EXIT_FAILED;
	if (o->least <= 0 || r.lower >= o->least)
		return CLI_EXIT_OK;
	/* the target may well do more than the tester can tell */
	return r.limit == SEARCH_LIMIT_TESTER ? CLI_EXIT_ERRORED
					      : CLI_EXIT_FAILED;
}
