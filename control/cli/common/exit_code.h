/**
 * Exit status of `offhook` and its commands.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMON_EXIT_CODE_H
#define OFFHOOK_CONTROL_CLI_COMMON_EXIT_CODE_H

#define CLI_EXIT_OK     0 /* done; a run or call: passed */
#define CLI_EXIT_FAILED 1 /* a verdict: the run or call failed */
#define CLI_EXIT_USAGE  2 /* the command line is wrong */
/* No verdict: our own failure, the controller refused or did not answer, or the
 * run errored or was stopped. */
#define CLI_EXIT_ERRORED 3

#endif
