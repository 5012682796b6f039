/**
 * The job that carries out a command line.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_PLAN_H
#define OFFHOOK_CONTROL_CLI_CALL_PLAN_H

#include "control/cli/call/options.h"

#include <jansson.h>

#define CLI_REASON_BYTES 512

/**
 * Build the `job` message of docs/internals/wire.md and decode it as an engine
 * does: what the engine would refuse is refused here.
 * @param ret        new reference
 * @param ret_steps  number of steps of the job
 * @param reason     one sentence, written on failure
 * @return 0; -EINVAL an option or a file is wrong; -EHOSTUNREACH no route to
 *         the target; -ENOMEM
 */
int plan_build(json_t **ret, unsigned *ret_steps, const struct cli_options *o,
	       char reason[static CLI_REASON_BYTES]);

#endif
