/**
 * Decoding of one action of a job. Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_ACTION_H
#define OFFHOOK_CONTROL_WIRE_ACTION_H

#include "control/wire/decode.h"
#include "control/wire/job.h"

/**
 * @param index  position in the job's step, used where the action names none
 * @param job    its peers are decoded already: templates are tried out
 * @param registered  the role's last register action before this one, or NULL:
 *                a call without a target of its own goes where it registered
 * @return 0; -EINVAL; -ENOMEM
 */
int wire_action_decode(struct decoder *d, json_t *object, size_t index,
		       const struct wire_job *job,
		       const struct wire_action *registered,
		       struct wire_action *ret);

#endif
