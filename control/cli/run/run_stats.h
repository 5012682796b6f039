/**
 * The figures of a run as tables. Pure. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_STATS_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_STATS_H

#include <jansson.h>
#include <stdio.h>

/** Sum up the calls of each role and the series of each measure.
 * @param report  data of a report (docs/reference/report.md)
 * @return new {roles: [{role, calls, established, failed, registrations,
 *         registered}], measures: [{role, dir, measure, unit, samples, min, avg,
 *         max}]}; NULL: out of memory */
json_t *run_stats_sum(const json_t *report);

/** Print them as tables. @param width  of the terminal; 0: whole */
void run_stats_print(FILE *out, const json_t *sums, size_t width);

/** Make a text of a number: at most 3 decimals, no zeros behind the last one.
 * @return new reference; null: it is no number */
json_t *run_stats_number(const json_t *value);

#endif
