/**
 * The conditions of a test from what was seen of the captured call.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_CONDITIONS_H
#define OFFHOOK_CONTROL_IMPORT_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "control/import/anonymise.h"
#include "control/import/call_summary.h"

struct conditions_params {
	const struct dialogs_call *call;
	const struct call_summary *summary;
	const struct sip_audio *answer; /* NULL: none */
	const char *received;           /* digits from the callee */
	bool expect_failure;            /* as in test_code_options */
	struct anonymise *anonymise;
	json_t *notes; /* array of sentences: what is left out is appended */
};

/** @return new reference: the array of a test; NULL: no memory */
json_t *conditions_make(const struct conditions_params *params);

#endif
