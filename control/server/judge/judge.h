/**
 * The judge: (conditions, events, messages, statistics) -> verdicts. Pure: no
 * database, no clock, no log. Conditions are checked by the same code when a
 * run is started, so that nothing is accepted that could not be judged.
 * Meaning of every condition type: docs/reference/conditions.md.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_JUDGE_JUDGE_H
#define OFFHOOK_SERVER_JUDGE_JUDGE_H

#include "control/wire/measure.h"
#include "media/analysis/summary.h"

#include <jansson.h>
#include <stdbool.h>

/* Ceilings of what one run may hold; above them adding answers -EMSGSIZE. */
#define JUDGE_RECORDS_MAX    4000000u /* of each kind of record */
#define JUDGE_CONDITIONS_MAX 200u     /* of a run, over all roles and types */

#define JUDGE_POINTER_BYTES 256
#define JUDGE_REASON_BYTES  384
#define JUDGE_PROBLEM_BYTES 640 /* with the names of all measures */

/** Where a condition is wrong, and why: one sentence. */
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

/** What a run produced, collected record by record. */
struct judge_input;

int judge_input_new(struct judge_input **ret);
struct judge_input *judge_input_free(struct judge_input *in);

/**
 * Add what a role had to do: its spec (docs/internals/wire.md), passwords not needed.
 * Specs go first, before any event.
 * @return 0; -EINVAL not a spec; -ENOMEM; -EMSGSIZE
 */
int judge_input_add_spec(struct judge_input *in, json_t *spec);

/**
 * Add an event (docs/internals/wire.md, Events). Unknown kinds are ignored.
 * @param event  borrowed and kept referenced
 * @return 0; -EINVAL; -ENOMEM; -EMSGSIZE
 */
int judge_input_add_event(struct judge_input *in, const char *role,
			  json_t *event);

/** Add a SIP message (docs/internals/wire.md, SIP messages). @return as add_event */
int judge_input_add_message(struct judge_input *in, const char *role,
			    json_t *message);

/** One interval of one measure. */
struct judge_point {
	const char *role; /* copied */
	bool outgoing;
	enum measure measure;
	struct distribution d;
	json_t *sketch; /* NULL: none; kept referenced */
};

int judge_input_add_point(struct judge_input *in,
			  const struct judge_point *point);

/** True if a condition needs the SIP messages, or the points: the caller need
 * not load the others. */
bool judge_conditions_need_messages(const struct judge_conditions *c);
bool judge_conditions_need_points(const struct judge_conditions *c);
/** True if one needs the role's audio decoded. */
bool judge_conditions_need_audio(const struct judge_conditions *c,
				 const char *role);

enum judge_status {
	JUDGE_PASSED,
	JUDGE_FAILED,
	JUDGE_ERRORED, /* the tester itself was at fault: no verdict counts */
};

struct judge_result {
	enum judge_status status;
	json_t *verdicts; /* array, owned: one a condition, docs/reference/conditions.md */
	char *description; /* owned; "" when passed */
	size_t flaws;      /* faults of the tester itself that were found */
};

/** Ceiling of result_description; what is above it is left out and counted. */
#define JUDGE_DESCRIPTION_BYTES 4000

/**
 * Judge a run. The input is sorted and linked in place; nothing is to be
 * added to it afterwards.
 * @return 0; -ENOMEM (*ret untouched)
 */
int judge_run(struct judge_result *ret, struct judge_input *in,
	      const struct judge_conditions *conditions);

void judge_result_release(struct judge_result *r);

#endif
