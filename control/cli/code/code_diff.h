/**
 * Differences between two records, for people. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CODE_CODE_DIFF_H
#define OFFHOOK_CONTROL_CLI_CODE_CODE_DIFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/** True if both hold the same: numbers are compared by value, and secrets are
 * only compared for whether there is one. */
bool code_same(json_t *a, json_t *b);

/** Print a line "    FIELD: OLD -> NEW" for each field that differs; nothing of
 * a secret. */
void code_diff_print(FILE *out, json_t *old, json_t *new);

#endif
