/* Shared within control/server/scenario. */
#ifndef OFFHOOK_SERVER_SCENARIO_INTERNAL_H
#define OFFHOOK_SERVER_SCENARIO_INTERNAL_H

#include "control/server/scenario/scenario.h"

/**
 * Put values into a part of a scenario.
 * @param ret  new reference; NULL where the part is to be left out
 * @return 0; -ENOMEM
 */
int template_fill(json_t *part, json_t *values, json_t **ret);

/** Likewise the steps, `repeat` and `each` unfolded. @return 0; -ENOMEM */
int template_steps(json_t *steps, json_t *values, json_t **ret);

/** The parameters of accounts and targets, for scenario_params(). */
int accounts_describe(json_t *scenario, json_t *params);

/** Likewise for scenario_example(). */
int accounts_example(json_t *scenario, json_t *example);

/**
 * Give the actions of the steps their accounts, targets and transport.
 * @param plan  steps are changed in place, consumed is added to
 * @return 0 (see errors); -ENOMEM
 */
int accounts_apply(struct scenario_plan *plan, json_t *scenario, json_t *body,
		   json_t *errors);

/**
 * An inline target: "host", "host:port", a SIP URI or an object.
 * @param ret  new object as a job carries it
 * @return 0; -EINVAL; -ENOMEM
 */
int target_parse(json_t *value, json_t **ret);

#endif
