/**
 * What a capacity search found: as text, as JSON, as an exit status. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_PRINT_H
#define OFFHOOK_CONTROL_CLI_CAPACITY_CAPACITY_PRINT_H

#include <jansson.h>
#include <stdio.h>

struct capacity_result;

void capacity_print(FILE *out, const struct capacity_result *o);

/** @return new object (docs/reference/capacity.md); NULL: out of memory */
json_t *capacity_print_json(const struct capacity_result *o);

/** @return exit status: 0 found, and not below `least`; 1 below it, or the lowest load
 * fails; 3 not known */
int capacity_print_exit(const struct capacity_result *o);

#endif
