#include "control/server/difference/difference.h"

#include "control/server/difference/compare_contents.h"
#include "control/server/difference/compare_figures.h"
#include "control/server/difference/compare_setup.h"
#include "control/server/difference/compare_signalling.h"
#include "control/server/difference/dialogs.h"
#include "control/server/difference/facts_internal.h"
#include "control/server/difference/findings.h"

#include <errno.h>

json_t *difference_of_runs(struct difference_run *before,
			   struct difference_run *after)
{
	json_t *findings = json_array();
	int err = findings ? dialogs_count(before) : -ENOMEM;

	if (!err)
		err = dialogs_count(after);
	if (!err)
		err = compare_setup(findings, before, after);
	if (!err)
		err = compare_signalling(findings, before, after);
	if (!err)
		err = compare_contents(findings, before, after);
	if (!err)
		err = compare_figures(findings, before, after);
	if (err) {
		json_decref(findings);
		return NULL;
	}
	return findings_rank(findings, after->verdicts);
}
