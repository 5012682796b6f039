#include "control/render/outcome.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <string.h>
#include <time.h>

static const char *const words[] = {
	[OUTCOME_PASSED] = "passed",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_ERRORED] = "errored",
	[OUTCOME_STOPPED] = "stopped",
};

enum outcome_kind outcome_kind(const char *status)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i], status) == 0)
			return (enum outcome_kind)i;
	return OUTCOME_ERRORED;
}

const char *outcome_word(enum outcome_kind kind)
{
	return words[kind];
}

bool outcome_time(const char *text, double *ret_s)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

	if (!end || *end)
		return false;
	*ret_s = (double)timegm(&tm);
	return true;
}

void outcome_of(struct outcome *ret, const json_t *report)
{
	const json_t *run = json_object_get(report, "run"), *verdict;
	double start, stop;
	size_t i;

	*ret = (struct outcome){.kind = outcome_kind(text_of(run, "status"))};
	json_array_foreach(json_object_get(report, "verdicts"), i, verdict)
	{
		ret->conditions++;
		ret->failed +=
			!json_is_true(json_object_get(verdict, "passed"));
		ret->undecided +=
			json_is_true(json_object_get(verdict, "undecided"));
	}
	if (outcome_time(text_of(run, "started_at"), &start) &&
	    outcome_time(text_of(run, "stopped_at"), &stop) && stop >= start) {
		ret->duration_s = stop - start;
		ret->has_duration = true;
	}
}

void outcome_text(char text[static OUTCOME_TEXT_BYTES],
		  const struct outcome *outcome)
{
	const char *noun =
		outcome->conditions == 1 ? "condition" : "conditions";

	switch (outcome->kind) {
	case OUTCOME_PASSED:
		str_print(text, OUTCOME_TEXT_BYTES,
			  outcome->conditions == 1 ? "the %zu %s holds"
						   : "all %zu %s hold",
			  outcome->conditions, noun);
		break;
	case OUTCOME_FAILED:
		str_print(text, OUTCOME_TEXT_BYTES, "%zu of %zu %s failed",
			  outcome->failed, outcome->conditions, noun);
		break;
	case OUTCOME_ERRORED:
		if (outcome->undecided) {
			str_print(text, OUTCOME_TEXT_BYTES,
				  "%zu of %zu %s could not be decided",
				  outcome->undecided, outcome->conditions,
				  noun);
			break;
		}
		str_print(text, OUTCOME_TEXT_BYTES,
			  "the test could not be carried out or measured; no "
			  "verdict is valid");
		break;
	case OUTCOME_STOPPED:
		str_print(text, OUTCOME_TEXT_BYTES,
			  "a user stopped the run; there is no verdict");
		break;
	}
}

bool outcome_removed(char text[static OUTCOME_REMOVED_BYTES], const json_t *run)
{
	static const char *const kinds[][2] = {
		{"metrics_removed_at", "metrics were"},
		{"sip_removed_at", "SIP messages were"},
		{"artifacts_removed_at", "recordings and other files were"},
	};
	const char *thinned = text_of(run, "metrics_thinned_at");
	char said[OUTCOME_REMOVED_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *at = text_of(run, kinds[i][0]);
		int len;

		if (!at[0])
			continue;
		len = str_print(said + used, sizeof(said) - used,
				"%s%s deleted on %.19s (UTC)", used ? "; " : "",
				kinds[i][1], at);
		if (len > 0)
			used += (size_t)len;
	}
	if (thinned[0] && !text_of(run, "metrics_removed_at")[0]) {
		int len = str_print(
			said + used, sizeof(said) - used,
			"%smetrics were merged to intervals of %" JSON_INTEGER_FORMAT
			" s on %.19s (UTC)",
			used ? "; " : "",
			json_integer_value(json_object_get(run, "interval_s")),
			thinned);

		if (len > 0)
			used += (size_t)len;
	}
	if (!used)
		return false;
	str_print(text, OUTCOME_REMOVED_BYTES, "Retention: %.220s.", said);
	return true;
}

bool outcome_reduced(char text[static OUTCOME_REDUCED_BYTES], const json_t *run)
{
	const json_int_t lost =
		json_integer_value(json_object_get(run, "shards_lost"));

	if (lost <= 0)
		return false;
	str_print(text, OUTCOME_REDUCED_BYTES,
		  "Reduced: %" JSON_INTEGER_FORMAT
		  " %s lost; the run went on without, and is judged by the "
		  "others.",
		  lost, lost == 1 ? "shard was" : "shards were");
	return true;
}

const char *outcome_test_name(const json_t *run)
{
	const char *name = text_of(run, "test_name");

	if (!name[0])
		name = text_of(run, "testcase_name");
	return name[0] ? name : "run";
}
