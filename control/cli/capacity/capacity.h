/**
 * `offhook capacity`: the highest load at which the conditions of a test hold, by trials that are
 * runs of that test. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_H

struct client;

/** argv[0] is the command. @return exit status: capacity_result_exit(), or 2 wrong usage */
int capacity_main(struct client *c, int argc, char **argv);

#endif
