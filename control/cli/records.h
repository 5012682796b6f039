/**
 * `offhook scenario`, `schedule`, `callback`, `artifact` and
 * `callback-template`: records of a controller, through its REST API.
 */
#ifndef OFFHOOK_CONTROL_CLI_RECORDS_H
#define OFFHOOK_CONTROL_CLI_RECORDS_H

#include <stdbool.h>

/** True if a command is one of these. */
bool records_command(const char *name);

/** Run the command in argv[0]. @return exit status: 0; 1 the controller refused
 * or does not answer, or the run did not pass; 2 wrong usage */
int records_main(int argc, char **argv);

#endif
