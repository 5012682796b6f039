/**
 * `offhook scenario`, `schedule`, `callback`, `artifact` and
 * `callback-template`: what a controller has of these, through its REST API.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORDS_H
#define OFFHOOK_CONTROL_CLI_RECORDS_H

#include <stdbool.h>

/** Whether a command is one of these. */
bool records_command(const char *name);

/** argv[0] is the command. @return exit status: 0; 1 the controller refused,
 * does not answer, or the run did not pass; 2 usage */
int records_main(int argc, char **argv);

#endif
