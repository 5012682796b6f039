/**
 * Inside of what is judged: shared by input.c and input_event.c.
 */
#ifndef OFFHOOK_SERVER_JUDGE_INPUT_INTERNAL_H
#define OFFHOOK_SERVER_JUDGE_INPUT_INTERNAL_H

#include "control/server/judge/input.h"

/** Keep an object, borrowed, for the input's life. @return its own text of the
 * role; NULL out of memory */
const char *judge_input_keep(struct judge_input *in, const char *role,
			     json_t *object);

/** @return NULL: the run has no such role */
struct role_record *judge_input_role(struct judge_input *in, const char *role);

#endif
