/**
 * `offhook completion`: scripts that complete command lines in shells, made from
 * the table of commands and their pages of help. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMAND_COMPLETION_H
#define OFFHOOK_CONTROL_CLI_COMMAND_COMPLETION_H

#include <stdio.h>

/** Run `offhook completion`; argv[0] is "completion". @return exit status */
int completion_main(int argc, char **argv);

#endif
