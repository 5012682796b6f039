/**
 * Which options do something together.
 */
#ifndef OFFHOOK_CONTROL_CLI_OPTION_USE_H
#define OFFHOOK_CONTROL_CLI_OPTION_USE_H

#include "control/cli/options.h"

/**
 * Find an option that was given and would do nothing with the others.
 * @param ret_needs  what it is of use with, written where one was found
 * @return its name; NULL: all of them count
 */
const char *option_without_effect(const struct cli_options *o,
				  const char **ret_needs);

#endif
