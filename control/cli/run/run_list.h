/**
 * What `offhook run list` asks for and prints. Pure, but for reading the options.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_LIST_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_LIST_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * Read a time: YYYY-MM-DD, YYYY-MM-DD HH:MM or YYYY-MM-DD HH:MM:SS in UTC, a
 * number of minutes, hours or days before now (90m, 12h, 7d), or seconds since
 * 1970.
 * @param now_s  seconds since 1970
 * @return 0; -EINVAL
 */
int run_list_time(const char *text, int64_t now_s, int64_t *ret_s);

/** Print runs as a table. @param width  of the terminal; 0: whole */
void run_list_print(FILE *out, const json_t *runs, size_t width);

#endif
