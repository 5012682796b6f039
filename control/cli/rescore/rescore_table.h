/**
 * Prints what was rescored, at most 80 columns wide.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RESCORE_RESCORE_TABLE_H
#define OFFHOOK_CONTROL_CLI_RESCORE_RESCORE_TABLE_H

#include "control/rescore/rescore.h"

#include <stdio.h>

/** Print all streams. @return 0; -ENOMEM; -EIO */
int rescore_print_table(struct rescore *r, FILE *out);

#endif
