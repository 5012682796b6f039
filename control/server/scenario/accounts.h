/**
 * The accounts and targets of a scenario's roles.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_SCENARIO_ACCOUNTS_H
#define OFFHOOK_SERVER_SCENARIO_ACCOUNTS_H

#include "control/server/scenario/scenario.h"

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

#endif
