/**
 * The differences between two runs. Pure. Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_RUN_RUN_COMPARE_H
#define OFFHOOK_CONTROL_CLI_RUN_RUN_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/**
 * Compare two reports (docs/reference/report.md).
 * @return new {runs: [{id, session_id, status, test_name, started_at}],
 *         conditions: [{role, text, before, after}], conditions_alike, figures:
 *         [{role, figure, before, after}], messages: [{dialogs_before,
 *         dialogs_after, lines: ["  SAME", "- BEFORE", "+ AFTER"]}],
 *         dialogs_alike, alike}: conditions and messages hold what differs; null
 *         is what the run does not have; alike is run_compare_alike(); NULL: out
 *         of memory
 */
json_t *run_compare(const json_t *before, const json_t *after);

/** True if both runs have the same status, and each condition is in both and has
 * the same outcome, passed or failed. Figures and messages may differ.
 * @param differences  of run_compare() */
bool run_compare_alike(const json_t *differences);

/**
 * Print the comparison.
 * @param differences  of run_compare(); if it has the members `differences` and
 *                     `further` of GET /runs/ID/differences, their sentences, too
 * @param width        of the terminal; 0: lines are not cut
 */
void run_compare_print(FILE *out, const json_t *differences, size_t width);

#endif
