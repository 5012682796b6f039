/**
 * Compare two runs: the order of messages, and what was sent again.
 * Thread: the owner of the runs.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_COMPARE_SIGNALLING_H
#define OFFHOOK_SERVER_DIFFERENCE_COMPARE_SIGNALLING_H

#include <jansson.h>

struct difference_run;

/** Add what differs. @return 0; -ENOMEM */
int compare_signalling(json_t *findings, const struct difference_run *before,
		       const struct difference_run *after);

#endif
