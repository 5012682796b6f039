/**
 * The commands that start runs: `offhook test run`, `scenario run` and
 * `project run`.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_START_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_START_H

struct client;

/** @return exit status: 0 started, with --wait passed; 1 failed; 2 wrong usage;
 * 3 refused, no answer, errored or stopped */
int run_start_test(struct client *c, int argc, char **argv);
int run_start_scenario(struct client *c, int argc, char **argv);
int run_start_project(struct client *c, int argc, char **argv);

#endif
