/**
 * Replaces placeholders in the data of a scenario by values (scenario.h).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_SCENARIO_TEMPLATE_H
#define OFFHOOK_SERVER_SCENARIO_TEMPLATE_H

#include <jansson.h>

/**
 * Replace the placeholders in a part of a scenario.
 * @param ret  new reference; NULL where the part is to be left out
 * @return 0; -ENOMEM
 */
int template_fill(json_t *part, json_t *values, json_t **ret);

/** Do the same for the steps, and expand `repeat` and `each`. @return 0;
 * -ENOMEM */
int template_steps(json_t *steps, json_t *values, json_t **ret);

#endif
