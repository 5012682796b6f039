/**
 * The facts of a run. They are kept as JSON objects, which are the maps:
 *   tallies  {key: {n, values: {value: count}}}: what dialogs, calls or streams
 *            have, each counted once
 *   samples  {key: [real]}: figures
 *   bounds   {key: real}: the largest of the error bounds of the values behind a figure
 * Thread: the owner of the run.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_FACTS_INTERNAL_H
#define OFFHOOK_SERVER_DIFFERENCE_FACTS_INTERNAL_H

#include "control/server/difference/facts.h"

#include <jansson.h>
#include <stdbool.h>

struct difference_run {
	json_t *verdicts; /* array */
	json_t *specs;    /* {role: spec} */
	json_t *agents;   /* {role: {name: true}} */
	json_t *flaws;    /* {role and name: text} */
	json_t *dialogs;  /* {role and Call-ID: {role, messages}}, in order */
	json_t *tallies;
	json_t *samples;
	json_t *bounds;
	bool counted; /* dialogs were made into tallies and samples */
};

#endif
