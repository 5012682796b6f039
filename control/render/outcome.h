/**
 * The outcome of a run in words, the same in every format.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_RENDER_OUTCOME_H
#define OFFHOOK_RENDER_OUTCOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum outcome_kind {
	OUTCOME_PASSED,
	OUTCOME_FAILED,
	OUTCOME_ERRORED, /* nothing is known of the system under test */
	OUTCOME_STOPPED, /* by a user: there is no verdict */
};

/** From the `status` of a run or project run. Others count as errored. */
enum outcome_kind outcome_kind(const char *status);

/** "passed", ... */
const char *outcome_word(enum outcome_kind kind);

struct outcome {
	enum outcome_kind kind;
	size_t conditions;
	size_t failed;    /* conditions, those that are undecided included */
	size_t undecided; /* left open by too few calls */
	double duration_s;
	bool has_duration;
};

void outcome_of(struct outcome *ret, const json_t *report);

/* "1 of 8 conditions failed", without what a name or sentence from outside says */
#define OUTCOME_TEXT_BYTES 120
void outcome_text(char text[static OUTCOME_TEXT_BYTES],
		  const struct outcome *outcome);

/**
 * What retention deleted from a run: "metrics were deleted on 2026-11-28 09:00:00
 * (UTC)", ...
 * @return false: nothing (text untouched)
 */
#define OUTCOME_REMOVED_BYTES 240
bool outcome_removed(char text[static OUTCOME_REMOVED_BYTES],
		     const json_t *run);

/**
 * What a run went on without: "Reduced: 1 shard was lost; ...".
 * @return false: nothing was lost (text untouched)
 */
#define OUTCOME_REDUCED_BYTES 120
bool outcome_reduced(char text[static OUTCOME_REDUCED_BYTES],
		     const json_t *run);

/** The name of a run's test. @return borrowed; "run" if it has none */
const char *outcome_test_name(const json_t *run);

/** The time of `YYYY-MM-DD HH:MM:SS`, UTC. @return true and s since 1970 */
bool outcome_time(const char *text, double *ret_s);

#endif
