/**
 * A search as the controller stores it: its parameters and trials as JSON, and what follows from
 * them. Pure.
 *
 * Parameters: {unit, min, max, width_percent, repeats, max_trials, trial_s, warm_up_s, cool_down_s,
 * action}. Trials: [{load, outcome, condition, sentence, session_id, ...}] in their order; an outcome
 * of null is a trial in progress, "void" one that says nothing about the load.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_CONTROL_CAPACITY_STORED_SEARCH_H
#define OFFHOOK_CONTROL_CAPACITY_STORED_SEARCH_H

#include "control/capacity/trial_log.h"

/* Points of the curve. */
#define STORED_SEARCH_POINTS 60

struct stored_search {
	struct search_params params;
	struct trial_plan plan;
	unsigned cool_down_s;
	struct trial_log log;
	unsigned
		voids; /* trials at the end that say nothing, one after another */
};

/** "calls_per_second", or "concurrent_calls". */
const char *stored_search_unit(bool is_rate);

/**
 * Learn of the trials.
 * @return 0; -EINVAL the parameters or a trial are out of range; -ENOMEM. stored_search_release() in
 *         any case
 */
int stored_search_load(struct stored_search *ret, const json_t *params,
		       const json_t *trials);
void stored_search_release(struct stored_search *s);

/** @return new object, as capacity_result_json(); NULL: out of memory */
json_t *stored_search_result(const struct stored_search *s);

/** Tell of each trial whether it counts: its member `discarded`. @return 0; -ENOMEM */
int stored_search_mark(const struct stored_search *s, json_t *trials);

/** The curve: [{load, share}], the chance that a trial at a load holds.
 * @return new array; NULL: out of memory */
json_t *stored_search_curve(const struct stored_search *s);

#endif
