/**
 * How the calls of an action behave as SIP sessions. Internal to control/wire.
 */
#ifndef OFFHOOK_CONTROL_WIRE_CALL_OPTIONS_H
#define OFFHOOK_CONTROL_WIRE_CALL_OPTIONS_H

#include "control/wire/decode.h"

/** Read prack, session_timer and their kin. @return 0; -EINVAL */
int wire_call_options_decode(struct decoder *d, json_t *object,
			     struct wire_call_options *ret);

#endif
