/**
 * Scenarios: run a test from a template without saving it
 * (docs/reference/api.md). Each is
 * data (scenarios.json, embedded): parameters, steps and conditions with
 * places for the parameters' values.
 *
 * In the data, a text "$NAME" becomes the parameter's value with its type,
 * "${NAME}" within a text its text; what has no value is left out with the
 * member or element it stands in. {"if": "$NAME", ...} is left out unless the
 * value is true. Among the steps {"repeat": N, "steps"} and {"each": ARRAY,
 * "as": NAME, "steps"} stand for several.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_SCENARIO_SCENARIO_H
#define OFFHOOK_SERVER_SCENARIO_SCENARIO_H

#include <jansson.h>

/** Load the embedded table. @return new reference; NULL: out of memory */
json_t *scenario_table(void);

/** Find a scenario by its name. @return borrowed; NULL: there is none */
json_t *scenario_find(json_t *table, const char *name);

/** List all scenarios. @return borrowed */
json_t *scenario_list(json_t *table);

/**
 * List the parameters of a scenario: its own, the common ones, and accounts and
 * targets of its roles.
 * @return new array of {name, type, required, default, description, ...};
 *         NULL: out of memory
 */
json_t *scenario_params(json_t *table, json_t *scenario);

/**
 * Make a complete body that starts it.
 * @return new object; NULL: out of memory
 */
json_t *scenario_example(json_t *table, json_t *scenario);

struct scenario_plan {
	json_t *values;     /* every parameter, defaults applied */
	json_t *steps;      /* as a test has them; accounts are in them */
	json_t *conditions; /* likewise */
	json_t *consumed;   /* object: the keys of the body that were read */
};

/**
 * Read the parameters of a body and fill the scenario in. Keys `step.` and
 * `condition.` are ignored; unknown keys are not in `consumed`.
 * @param body    object, as forms or JSON have it; NULL: there was none
 * @param errors  array; what is wrong is added as {pointer, detail}: then the
 *                plan is not to be used
 * @return 0; -ENOMEM. scenario_plan_release() in any case
 */
int scenario_fill(struct scenario_plan *ret, json_t *table, json_t *scenario,
		  json_t *body, json_t *errors);

void scenario_plan_release(struct scenario_plan *plan);

#endif
