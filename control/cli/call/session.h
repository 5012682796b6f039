/**
 * Drive one engine process in the foreground until its job is done.
 */
#ifndef OFFHOOK_CONTROL_CLI_CALL_SESSION_H
#define OFFHOOK_CONTROL_CLI_CALL_SESSION_H

#include "control/cli/call/options.h"

#include <jansson.h>

/**
 * Run the job and print what happens.
 * @param job    the `job` message, borrowed
 * @param steps  its number of steps
 * @return exit status of the command: 0 passed, 1 failed, 3 errored
 */
int session_run(const struct cli_options *o, json_t *job, unsigned steps);

#endif
