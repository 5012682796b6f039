/**
 * The line that shows how far a run is, on a terminal of any width. Pure.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_PROGRESS_H
#define OFFHOOK_CONTROL_CLI_RUN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	double done; /* 0 to 1 */
	int64_t elapsed_s;
	const char *text; /* what happens: "running"; not NULL */
};

/**
 * Print bar, percentage, time and text without an end of line, for example
 * "[#####-----]  50 %  01:07  running". The last column stays free, so that the
 * terminal does not wrap. What has no place is left out: the text first, then
 * the bar, then the time.
 * @param columns  of the terminal, > 0
 * @return columns printed, below columns
 */
size_t progress_print(FILE *out, const struct progress *p, size_t columns);

#endif
