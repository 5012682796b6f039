/**
 * The judge: (conditions, events, messages, statistics) -> verdicts. Pure: no
 * database, no clock, no log.
 * Meaning of every condition type: docs/reference/conditions.md.
 * Thread: any; an object has one owner.
 */
#ifndef OFFHOOK_SERVER_JUDGE_JUDGE_H
#define OFFHOOK_SERVER_JUDGE_JUDGE_H

#include <jansson.h>
#include <stddef.h>

struct judge_conditions;
struct judge_input;

enum judge_status {
	JUDGE_PASSED,
	JUDGE_FAILED,
	JUDGE_ERRORED, /* the tester itself failed, or too few calls to tell */
};

struct judge_result {
	enum judge_status status;
	json_t *verdicts; /* array, owned: one a condition, docs/reference/conditions.md */
	char *description; /* owned; "" when passed */
	size_t flaws;      /* faults of the tester itself that were found */
};

/** Ceiling of result_description; further sentences are only counted. */
#define JUDGE_DESCRIPTION_BYTES 4000

/**
 * Look at a run in progress: have its calls decided the conditions that they can decide, or does one of them
 * fail? The input is sorted and linked in place; nothing may be added afterwards.
 * @return 1; 0; -ENOMEM
 */
int judge_is_decided(struct judge_input *in,
		     const struct judge_conditions *conditions);

/**
 * Judge a run. The input is sorted and linked in place; nothing may be added
 * afterwards.
 * @return 0; -ENOMEM (*ret untouched)
 */
int judge_run(struct judge_result *ret, struct judge_input *in,
	      const struct judge_conditions *conditions);

void judge_result_release(struct judge_result *r);

#endif
