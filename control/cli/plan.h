/**
 * The job that carries out a command line.
 */
#ifndef OFFHOOK_CONTROL_CLI_PLAN_H
#define OFFHOOK_CONTROL_CLI_PLAN_H

#include "control/cli/options.h"

#include <jansson.h>

#define CLI_REASON_BYTES 512

/**
 * Build the `job` message of docs/internals/wire.md and try it out: what an engine
 * would refuse is refused here, with the reason.
 * @param ret_steps  number of steps of the job
 * @return 0; with a reason: -EINVAL what was asked for is wrong, -EHOSTUNREACH
 * there is no way to the target, -ENOMEM
 */
int plan_build(json_t **ret, unsigned *ret_steps, const struct cli_options *o,
	       char reason[static CLI_REASON_BYTES]);

#endif
