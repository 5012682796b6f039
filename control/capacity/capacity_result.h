/**
 * What a capacity search found: as a sentence, as JSON. Pure. Thread: any.
 */
#ifndef OFFHOOK_CONTROL_CAPACITY_CAPACITY_RESULT_H
#define OFFHOOK_CONTROL_CAPACITY_CAPACITY_RESULT_H

#include "control/capacity/search.h"

#include <jansson.h>
#include <stdbool.h>

/* Everything is borrowed. */
struct capacity_result {
	const char *test;
	bool is_rate;
	const struct search_params *params;
	const struct search *search;
	const json_t
		*runs; /* of each trial {sentence, session_id, report_url} */
	const json_t *causes; /* texts of the conditions; a trial's cause is an
			       * index */
	/* why the search was ended early; NULL: it ended by itself */
	const char *broken_off;
	double seconds; /* that it took */
	double least; /* the interval has to begin there or above; 0: not asked */
};

/** "calls/s", or "calls at a time". */
const char *capacity_result_unit(bool is_rate);

/** The sentence of the result: "between 20 and 21 calls at a time".
 * @param text  CAPACITY_TEXT_BYTES */
#define CAPACITY_TEXT_BYTES 200
void capacity_result_text(const struct capacity_result *o,
			  const struct search_result *r,
			  char text[static CAPACITY_TEXT_BYTES]);

/** The condition that limits, or what the tester said of itself; "": nothing does. */
const char *capacity_result_cause(const struct capacity_result *o,
				  const struct search_result *r);

/** @return why the last trial that failed with the limiting condition failed, as
 * its run says it; "": no trial did */
const char *capacity_result_sentence(const struct capacity_result *o,
				     const struct search_result *r);

/** The trials, with what is in `runs` of each.
 * @return new array (docs/reference/capacity.md); NULL: out of memory */
json_t *capacity_result_trials(const struct capacity_result *o);

/** @return new object, `result` of docs/reference/capacity.md; NULL: out of memory */
json_t *capacity_result_json(const struct capacity_result *o);

#endif
