/**
 * Values of action parameters: forms, and older clients, write as text what
 * is a number, a flag or an array.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PARAMS_H
#define OFFHOOK_SERVER_RUN_PARAMS_H

#include "control/server/request/request.h"
#include "control/server/run/step_params.h"

/** Name a parameter's type for messages: "a whole number", "a JSON array", ...
 */
const char *param_type_name(const struct step_param *p);

/**
 * Bring a value to its parameter's type; ranges are wire_job_decode()'s.
 * @param value  borrowed
 * @param ret    new reference
 * @return 0; -EINVAL it is none of the type; -ENOMEM
 */
int param_normalize(const struct step_param *p, json_t *value, json_t **ret);

#endif
