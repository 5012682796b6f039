/**
 * Detect options that have no effect beside the others.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_OPTION_USE_H
#define OFFHOOK_CONTROL_CLI_CALL_OPTION_USE_H

#include "control/cli/call/options.h"

/**
 * Find an option that was given but has no effect.
 * @param ret_needs  what it needs to have one; set only if one was found
 * @return its name, static; NULL: every option has an effect
 */
const char *option_without_effect(const struct cli_options *o,
				  const char **ret_needs);

#endif
