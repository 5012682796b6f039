/**
 * The actions of sipclient_actions as users are told of them.
 * Thread: any; constant.
 */
#ifndef OFFHOOK_CONTROL_WIRE_SCRIPT_TEXT_H
#define OFFHOOK_CONTROL_WIRE_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A script action as users are told of it. */
struct wire_script_text {
	const char *name;
	const char *word;  /* its name in words */
	const char *takes; /* what the argument is; code within backticks */
	const char *help;  /* what it does */
	bool takes_nothing;
	bool optional;  /* the argument may be empty */
	bool is_state;  /* the argument is the name of a state */
	bool is_prompt; /* the argument is the name of a prompt */
	uint32_t min;   /* of a number; max 0: it is none */
	uint32_t max;
};

/** Get script action i. @return false: no more; ret unchanged */
bool wire_script_action_text(size_t i, struct wire_script_text *ret);

#endif
