/**
 * Compare two runs: distributions of figures, and what streams have.
 * Thread: the owner of the runs.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_COMPARE_FIGURES_H
#define OFFHOOK_SERVER_DIFFERENCE_COMPARE_FIGURES_H

#include <jansson.h>

struct difference_run;

/** Add what differs. @return 0; -ENOMEM */
int compare_figures(json_t *findings, const struct difference_run *before,
		    const struct difference_run *after);

#endif
