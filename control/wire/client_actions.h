/**
 * Decoding of the parameters that have a syntax of their own:
 * sipclient_actions, custom_headers, call_duration. Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_CLIENT_ACTIONS_H
#define OFFHOOK_CONTROL_WIRE_CLIENT_ACTIONS_H

#include "control/wire/decode.h"
#include "control/wire/job.h"

/**
 * Decode sipclient_actions.
 * @param value  an array, or an array as text; d points at it
 * @return 0 and the list (in the arena); -EINVAL; -ENOMEM
 */
int client_actions_decode(struct decoder *d, json_t *value,
			  const struct wire_client_action **ret,
			  size_t *ret_count);
/**
 * Check the arguments that have placeholders, with these replaced.
 * @param registered  as of wire_fillings_init()
 * @return 0; -EINVAL
 */
int client_actions_check(struct decoder *d, const struct wire_job *job,
			 const struct wire_action *a,
			 const struct wire_action *registered);
int custom_headers_decode(struct decoder *d, json_t *value,
			  const struct wire_header **ret, size_t *ret_count);

#endif
