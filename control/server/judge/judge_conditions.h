/**
 * The conditions of a test, parsed and checked for the judge. The same code
 * checks them when a run is started, so that every accepted condition can be
 * judged. Meaning of every type: docs/reference/conditions.md.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_JUDGE_JUDGE_CONDITIONS_H
#define OFFHOOK_SERVER_JUDGE_JUDGE_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>

struct judge_input;

#define JUDGE_CONDITIONS_MAX 200u /* of a run, over all roles and types */

#define JUDGE_POINTER_BYTES 256
#define JUDGE_REASON_BYTES  384
#define JUDGE_PROBLEM_BYTES 640 /* with the names of all measures */

/** The place of an error in a condition, and its reason: one sentence. */
struct judge_problem {
	char pointer[JUDGE_POINTER_BYTES]; /* JSON pointer below the value */
	char reason[JUDGE_PROBLEM_BYTES];
};

/** Conditions, parsed. Constant once made. */
struct judge_conditions;

/**
 * Parse a test's conditions: an array of {role, condition_type, conditions,
 * options}. An empty `conditions` array switches that type off.
 * @param array    borrowed and kept referenced
 * @param problem  filled on -EINVAL; the pointer starts at the array
 * @return 0; -EINVAL; -ENOMEM
 */
int judge_conditions_new(struct judge_conditions **ret, json_t *array,
			 struct judge_problem *problem);

struct judge_conditions *judge_conditions_free(struct judge_conditions *c);

/**
 * Check the value of one role and type, as an override carries it:
 * {conditions: [...], options: [...]}.
 * @param problem  filled on -EINVAL; pointer "" where role or type is wrong,
 *                 else it starts at value
 * @return 0; -EINVAL
 */
int judge_conditions_check(const char *role, const char *condition_type,
			   json_t *value, struct judge_problem *problem);

/** True if a condition needs the SIP messages, or the points: the caller need
 * not load the others. */
bool judge_conditions_need_messages(const struct judge_conditions *c);
bool judge_conditions_need_points(const struct judge_conditions *c);
/** True if the run is to end when the calls have decided: option stop_early. */
bool judge_conditions_stop_early(const struct judge_conditions *c);

/**
 * Whether the calls so far decide every condition that they can decide, or one of them fails.
 * @param in  linked
 * @return 1; 0; -ENOMEM
 */
int judge_conditions_decided(const struct judge_conditions *c,
			     const struct judge_input *in);

/** With how many earlier runs that passed conditions compare; 0: with none. */
unsigned judge_conditions_need_earlier(const struct judge_conditions *c);
/** True if a condition needs the role's audio decoded. */
bool judge_conditions_need_audio(const struct judge_conditions *c,
				 const char *role);

/* Built-in rules that the conditions of a role replace. */
struct judge_replaced {
	bool calls; /* are established, are taken, end as the test asks */
	bool registers;
};

struct judge_replaced judge_conditions_replace(const struct judge_conditions *c,
					       const char *role);

/** Add a verdict for each condition. @param in  linked @return 0; -ENOMEM */
int judge_conditions_judge(const struct judge_conditions *c,
			   const struct judge_input *in, json_t *verdicts);

#endif
