/**
 * The script of a caller (sipclient_actions) from what it did in a captured call,
 * at the same times.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_SCRIPT_H
#define OFFHOOK_CONTROL_IMPORT_SCRIPT_H

#include <jansson.h>

#include "control/import/anonymise.h"
#include "control/import/call_summary.h"

struct script {
	json_t *actions;       /* new reference */
	const char *dtmf_mode; /* static; NULL: no digits */
	/* digits from the callee, in order */
	char received[DIALOGS_DIGITS_MAX + 1];
};

/**
 * @param host   of the target, for the URI of a transfer to the captured one
 * @param notes  array of sentences: what is left out is appended
 * @return 0; -ENOMEM
 */
int script_make(const struct dialogs_call *call,
		const struct call_summary *summary, struct anonymise *anonymise,
		const char *host, json_t *notes, struct script *ret);

/** Append a sentence, once. */
void script_note(json_t *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
