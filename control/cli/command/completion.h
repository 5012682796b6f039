/**
 * `offhook completion`: scripts that complete command lines in shells, made from
 * the table of commands and their pages of help. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMAND_COMPLETION_H
#define OFFHOOK_CONTROL_CLI_COMMAND_COMPLETION_H

#include <stdio.h>

/** Print the script of a shell: "bash", "zsh" or "fish".
 * @return 0; -EINVAL: another shell, nothing was printed */
int completion_print(FILE *out, const char *shell);

/** Run `offhook completion`; argv[0] is "completion". @return exit status */
int completion_main(int argc, char **argv);

#endif
