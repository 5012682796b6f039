/** Shared by the files of this folder. */
#ifndef OFFHOOK_SERVER_CAPACITY_CAPACITY_INTERNAL_H
#define OFFHOOK_SERVER_CAPACITY_CAPACITY_INTERNAL_H

#include "control/capacity/trial.h"

/**
 * Make the test of a trial.
 * @param ret  new object
 * @return 0 (see errors); -ENOMEM
 */
int capacity_trial_test(json_t *test, const struct trial_plan *plan,
			double load, json_t *errors, json_t **ret);

#endif
