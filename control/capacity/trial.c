#include "control/capacity/trial.h"

#include "base/str.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TEXT_BYTES 40
/* Calls a second at most until all calls of a trial are up. */
#define BEGIN_RATE_MAX 1000

/* ---- the action ---- */

static bool is_call(const json_t *action)
{
	return strcmp(text_of(action, "type"), "call") == 0;
}

int trial_find_action(const json_t *steps, const char *wanted,
		      char ret[static TRIAL_PATH_BYTES])
{
	const json_t *step, *action;
	size_t i, k, found = 0;

	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			char place[TRIAL_PATH_BYTES];

			str_print(place, sizeof(place), "%zu.%zu", i, k);
			if (!is_call(action) ||
			    (wanted && strcmp(place, wanted) != 0))
				continue;
			str_print(ret, TRIAL_PATH_BYTES, "step.%s.", place);
			found++;
		}
	}
	if (found == 0)
		return wanted ? -EINVAL : -ENOENT;
	return found == 1 ? 0 : -EEXIST;
}

/* ---- the overrides ---- */

double trial_calls(const struct trial_plan *plan, double load)
{
	/* half as many calls as at the full rate begin during a ramp */
	double seconds = plan->trial_s + plan->warm_up_s / 2.0;

	return plan->is_rate ? fmax(ceil(load * seconds - 1e-9), 1) : load;
}

static int set(json_t *fields, const struct trial_plan *plan, const char *name,
	       double value)
{
	char path[2 * TRIAL_PATH_BYTES], text[TEXT_BYTES];

	str_print(path, sizeof(path), "%s%s", plan->action, name);
	str_print(text, sizeof(text), "%.10g", value);
	return json_object_set_new(fields, path, json_string(text));
}

static double rate_of(const struct trial_plan *plan, double load)
{
	if (plan->is_rate)
		return load;
	return plan->warm_up_s ? fmin(load / plan->warm_up_s, BEGIN_RATE_MAX)
			       : BEGIN_RATE_MAX;
}

json_t *trial_overrides(const struct trial_plan *plan, double load)
{
	json_t *fields = json_object();
	double total = trial_calls(plan, load);
	int err = 0;

	err |= set(fields, plan, "max_total_calls", total);
	err |= set(fields, plan, "max_concurrent_calls",
		   fmin(total, TRIAL_CALLS_MAX));
	err |= set(fields, plan, "calls_per_second", rate_of(plan, load));
	err |= set(fields, plan, "ramp_up",
		   plan->is_rate ? plan->warm_up_s : 0);
	if (!plan->is_rate)
		err |= set(fields, plan, "call_duration",
			   plan->warm_up_s + plan->trial_s);
	/* a trial that fails is nothing to repeat or to tell others about */
	err |= json_object_set_new(fields, "retries_on_failure",
				   json_string("0"));
	err |= json_object_set_new(fields, "callback_on_failure",
				   json_string("0"));
	if (err) {
		json_decref(fields);
		return NULL;
	}
	return fields;
}

double trial_step(const struct trial_plan *plan, double min, double width)
{
	double fine = pow(10, floor(log10(min * width / 4)));

	return plan->is_rate ? fmax(fine, TRIAL_RATE_MIN) : 1;
}

/* ---- the verdict ---- */

static const char *const outcomes[] = {
	[SEARCH_HELD] = "held",
	[SEARCH_FAILED] = "failed",
	[SEARCH_SATURATED] = "saturated",
};

const char *trial_outcome_name(enum search_outcome outcome)
{
	return outcomes[outcome];
}

int trial_outcome_parse(const char *name, enum search_outcome *ret)
{
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		if (strcmp(outcomes[i], name) == 0) {
			*ret = (enum search_outcome)i;
			return 0;
		}
	return -EINVAL;
}

/* The tester could not do it: the agent's own evidence, or its range of ports. */
static bool is_tester(const char *sentence)
{
	static const char *const marks[] = {
		"generator saturated: ",
		"the tester itself was at fault: ",
		" of the RTP range ",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(sentence, marks[i]))
			return true;
	return false;
}

/* The condition to name: one of the test before a built-in one.
 * @return NULL: none */
static const json_t *first_broken(const json_t *verdicts, bool undecided)
{
	const json_t *verdict, *found = NULL;
	size_t i;

	json_array_foreach(verdicts, i, verdict)
	{
		bool built_in =
			json_is_true(json_object_get(verdict, "built_in"));

		if (json_is_true(json_object_get(verdict, "passed")) ||
		    json_is_true(json_object_get(verdict, "undecided")) !=
			    undecided)
			continue;
		if (!built_in)
			return verdict;
		if (!found)
			found = verdict;
	}
	return found;
}

int trial_judge(const json_t *run, struct trial_verdict *ret)
{
	const json_t *verdicts = json_object_get(run, "verdicts"), *broken;
	const char *status = text_of(run, "status");
	const char *sentence = text_of(run, "result_description");
	bool errored = strcmp(status, "errored") == 0;

	*ret = (struct trial_verdict){SEARCH_HELD, "", ""};
	if (strcmp(status, "passed") == 0)
		return 0;
	if (errored && is_tester(sentence)) {
		ret->outcome = SEARCH_SATURATED;
		ret->sentence = sentence;
		return 0;
	}
	if (!errored && strcmp(status, "failed") != 0)
		return -EAGAIN;
	broken = first_broken(verdicts, errored);
	if (errored && !broken)
		return -EAGAIN;
	ret->outcome = SEARCH_FAILED;
	ret->condition = broken ? text_of(broken, "text") : sentence;
	ret->sentence = broken ? text_of(broken, "sentence") : sentence;
	return 0;
}
