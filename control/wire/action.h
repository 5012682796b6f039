/**
 * Decoding of one action of a job. Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_ACTION_H
#define OFFHOOK_CONTROL_WIRE_ACTION_H

#include "control/wire/decode.h"
#include "control/wire/job.h"

/**
 * Decode one action.
 * @param object      borrowed
 * @param index       position in the job's step, used if the action has none
 * @param job         its peers are already decoded: templates are tested
 * @param registered  the role's last register action before this one, or NULL:
 *                    a call without its own target uses that action's
 * @return 0; -EINVAL; -ENOMEM
 */
int wire_action_decode(struct decoder *d, json_t *object, size_t index,
		       const struct wire_job *job,
		       const struct wire_action *registered,
		       struct wire_action *ret);

#endif
