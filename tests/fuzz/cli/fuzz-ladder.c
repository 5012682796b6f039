/* SIP messages that a controller gives, as ladders and compared: they may be
 * anything, and no control character reaches the terminal. */
#include "control/cli/run/ladder.h"
#include "control/cli/run/run_compare.h"
#include "control/cli/run/run_stats.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *report =
		json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	json_t *folded, *differences, *sums;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (!report)
		return 0;
	folded = ladder_fold(json_object_get(report, "messages"));
	differences = run_compare(report, report);
	sums = run_stats_sum(report);
	out = open_memstream(&text, &len);
	if (!folded || !differences || !sums || !out)
		abort();
	ladder_print(out, folded, 80);
	ladder_print(out, folded, 0);
	run_compare_print(out, differences, 80);
	run_stats_print(out, sums, 80);
	fclose(out);
	if (strchr(text, '\x1b') || strlen(text) != len)
		abort();
	free(text);
	json_decref(folded);
	json_decref(differences);
	json_decref(sums);
	json_decref(report);
	return 0;
}
