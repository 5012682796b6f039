/**
 * The trials of a search in their order: what the search learns of them, and what is shown of each.
 * A search goes on where it was when its trials are added again.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_CONTROL_CAPACITY_TRIAL_LOG_H
#define OFFHOOK_CONTROL_CAPACITY_TRIAL_LOG_H

#include "control/capacity/trial.h"

struct trial_log {
	struct search *search;
	json_t *runs;   /* of each trial {sentence, session_id, report_url} */
	json_t *causes; /* texts of the conditions; a trial's cause is an
			 * index */
};

/** @return 0; -EINVAL the parameters are out of range; -ENOMEM. trial_log_release() in any case */
int trial_log_init(struct trial_log *l, const struct search_params *params);
void trial_log_release(struct trial_log *l);

/**
 * Add a trial.
 * @param report_url  NULL: not known
 * @return 0; -EINVAL the load is out of range; -ENOSPC; -ENOMEM
 */
int trial_log_add(struct trial_log *l, double load,
		  const struct trial_verdict *v, const char *session_id,
		  const char *report_url);

#endif
