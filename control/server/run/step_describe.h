/**
 * What the steps of a test are made of, for GET /descriptions: from the tables
 * that check them.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_SERVER_RUN_STEP_DESCRIBE_H
#define OFFHOOK_CONTROL_SERVER_RUN_STEP_DESCRIBE_H

#include <jansson.h>

/** @return new array: the types of actions with their parameters; NULL: out of
 * memory */
json_t *steps_describe_actions(void);

/** @return new array: the actions of sipclient_actions; NULL: out of memory */
json_t *steps_describe_script(void);

/** @return new object: how many steps, actions and script actions there may
 * be; NULL: out of memory */
json_t *steps_describe_limits(void);

#endif
