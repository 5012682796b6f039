/**
 * Other programs of ours: beside this one, else in PATH.
 */
#ifndef OFFHOOK_CONTROL_CLI_PROGRAM_H
#define OFFHOOK_CONTROL_CLI_PROGRAM_H

#include <stddef.h>

/** Its path beside ours. @return 0; -ENOENT it is not there */
int program_beside(char *dst, size_t size, const char *name);

/** Become it. @return -errno, only if it cannot be; said on standard error */
int program_become(const char *name, char **argv);

#endif
