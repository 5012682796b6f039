/**
 * Compare two runs: header fields and session descriptions.
 * Thread: the owner of the runs.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_COMPARE_CONTENTS_H
#define OFFHOOK_SERVER_DIFFERENCE_COMPARE_CONTENTS_H

#include <jansson.h>

struct difference_run;

/** Add what differs. @return 0; -ENOMEM */
int compare_contents(json_t *findings, const struct difference_run *before,
		     const struct difference_run *after);

#endif
