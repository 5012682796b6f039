/** The runs of a history. Thread: the owner of the history. */
#ifndef OFFHOOK_SERVER_FLAKINESS_FLAKY_INTERNAL_H
#define OFFHOOK_SERVER_FLAKINESS_FLAKY_INTERNAL_H

#include "control/server/flakiness/flaky_history.h"

/* A set of runs: bit i is run i. */
typedef uint32_t flaky_runs;

struct flaky_history {
	size_t count;
	flaky_runs failed;
	int64_t started_ms[FLAKY_RUNS_MAX];
	json_t *values[FLAKY_VALUED]; /* {role: {value: flaky_runs}} */
};

#endif
