/**
 * One trial of a capacity search: what its run overrides in the test, and what the finished run says
 * about the load. Pure. Thread: any.
 */
#ifndef OFFHOOK_CONTROL_CAPACITY_TRIAL_H
#define OFFHOOK_CONTROL_CAPACITY_TRIAL_H

#include "control/capacity/search.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TRIAL_PATH_BYTES 40
/* docs/reference/parameters.md */
#define TRIAL_RATE_MIN  0.001
#define TRIAL_RATE_MAX  10000
#define TRIAL_CALLS_MAX 10000   /* max_concurrent_calls */
#define TRIAL_TOTAL_MAX 1000000 /* max_total_calls */

struct trial_plan {
	bool is_rate; /* loads are calls a second, else calls at a time */
	unsigned trial_s;
	unsigned warm_up_s;
	char action[TRIAL_PATH_BYTES]; /* "step.1.0." */
};

/**
 * Find the `call` action whose rate or number of calls the search sets.
 * @param steps   of the test
 * @param wanted  "STEP.ACTION"; NULL: the only `call` action
 * @param ret     TRIAL_PATH_BYTES
 * @return 0; -ENOENT there is none; -EEXIST there are several; -EINVAL wanted is no `call` action
 */
int trial_find_action(const json_t *steps, const char *wanted,
		      char ret[static TRIAL_PATH_BYTES]);

/**
 * Make the overrides of a trial.
 * A rate: the calls of the trial's time at that rate, of which as many as it takes are up at a time,
 * after a ramp of the warm-up. Calls at a time: they begin evenly during the warm-up, and all stay up
 * for the trial's time.
 * @param load  within the ceilings above
 * @return new object of texts; NULL: out of memory
 */
json_t *trial_overrides(const struct trial_plan *plan, double load);

/** Calls of a trial. They are at most TRIAL_TOTAL_MAX, unless the plan asks for too much. */
double trial_calls(const struct trial_plan *plan, double load);

/** A round number of which many are in the narrowest interval; 1 for calls at a time. */
double trial_step(const struct trial_plan *plan, double min, double width);

/** "held", "failed" or "saturated". */
const char *trial_outcome_name(enum search_outcome outcome);
/** @return 0; -EINVAL there is no such outcome */
int trial_outcome_parse(const char *name, enum search_outcome *ret);

struct trial_verdict {
	enum search_outcome outcome;
	const char *condition; /* that failed: its text; "": none */
	const char *sentence;  /* why; "": nothing to say */
};

/**
 * Make the outcome of a trial from the end of its run:
 *
 *  - SEARCH_SATURATED: the tester was saturated, or had another fault
 *  - SEARCH_FAILED: a condition failed, or had too few calls to be shown to hold
 *  - SEARCH_HELD: all conditions held
 *
 * @param run  of GET /runs/ID, ended
 * @param ret  borrows from the run
 * @return 0; -EAGAIN the run says nothing about the load: it errored for another reason, or was stopped
 */
int trial_judge(const json_t *run, struct trial_verdict *ret);

#endif
