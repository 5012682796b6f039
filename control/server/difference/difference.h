/**
 * What differs between two runs, in plain sentences: the differential verdict
 * (docs/reference/differences.md). Pure: no database, no clock, no log.
 * Thread: any; the owner of the runs.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_DIFFERENCE_H
#define OFFHOOK_SERVER_DIFFERENCE_DIFFERENCE_H

#include <jansson.h>

struct difference_run;

/**
 * Compare two runs.
 * @param before  in/out: the earlier one, or the one that passed
 * @param after   in/out: the run to explain
 * @return new {differences: [{kind, sentence, role, before, after, explains:
 *         [text]}], further}: at most five, the one that
 *         explains most failed conditions of `after` first; NULL: out of memory
 */
json_t *difference_of_runs(struct difference_run *before,
			   struct difference_run *after);

#endif
