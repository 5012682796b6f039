/**
 * Compare two runs: parameters, agents, conditions, faults of the tester.
 * Thread: the owner of the runs.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_COMPARE_SETUP_H
#define OFFHOOK_SERVER_DIFFERENCE_COMPARE_SETUP_H

#include <jansson.h>

struct difference_run;

/** Add what differs. @return 0; -ENOMEM */
int compare_setup(json_t *findings, const struct difference_run *before,
		  const struct difference_run *after);

#endif
