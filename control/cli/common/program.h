/**
 * Find and start our other programs: in this program's folder, else in PATH.
 */
#ifndef OFFHOOK_CONTROL_CLI_COMMON_PROGRAM_H
#define OFFHOOK_CONTROL_CLI_COMMON_PROGRAM_H

#include <stddef.h>

/** Write the path of a program in our own folder. @return 0; -ENOENT it is not
 * there */
int program_beside(char *dst, size_t size, const char *name);

/** Replace this process by the program (execv). Returns only on failure, after
 * a message on standard error. @return -errno */
int program_become(const char *name, char **argv);

#endif
