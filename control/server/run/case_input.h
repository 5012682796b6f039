/**
 * Reads what a run produced from the store, for the judge.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_RUN_CASE_INPUT_H
#define OFFHOOK_SERVER_RUN_CASE_INPUT_H

struct judge_conditions;
struct judge_input;
struct run_case;
struct store;

/** Read all that the conditions of a run that is over need. @return 0; -EIO; -ENOMEM; -EMSGSIZE */
int case_input_read(struct store *store, const struct run_case *c,
		    const struct judge_conditions *conditions,
		    struct judge_input *in);

/** Read the calls so far of a run in progress. @return likewise */
int case_input_peek(struct store *store, const struct run_case *c,
		    const struct judge_conditions *conditions,
		    struct judge_input *in);

#endif
