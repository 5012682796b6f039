/**
 * What is told of a run that is over. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_RESULT_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_RESULT_H

#include <jansson.h>
#include <stdbool.h>

struct client;

/** Print the verdict, the conditions with what was expected and measured, MOS,
 * post-dial delay and the link of the report on standard output.
 * @param run  of GET /runs/ID */
void run_result_print(struct client *c, const json_t *run);

/** Print the verdict of a project run and those of its runs.
 * @param run  of GET /projects/runs/UUID/status
 * @param report_url  NULL: unknown */
void run_result_print_project(const char *name, const json_t *run,
			      const char *report_url);

/** The exit status for the state of a run or project run. */
int run_result_exit(const char *state);

#endif
