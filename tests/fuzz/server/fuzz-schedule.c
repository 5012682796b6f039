/*
 * Cron expressions, which users write, and time zones from the system's files.
 */
#include "control/server/schedule/cron.h"
#include "control/server/schedule/zone.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void next_times(const char *text, const struct zone *z)
{
	char reason[CRON_REASON_BYTES] = "";
	int64_t at = 1700000000, last;
	struct cron c;

	if (cron_parse(&c, text, reason)) {
		if (!reason[0])
			abort();
		return;
	}
	for (int i = 0; i < 3; i++) {
		last = at;
		if (cron_next(&c, z, at, &at) == 0 && at <= last)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct zone *z = NULL;

	if (zone_parse(&z, data, size) == 0)
		next_times("30 2 * * *", z);
	zone_free(z);
	if (zone_load(&z, "UTC"))
		abort();
	next_times(text, z);
	zone_free(z);
	free(text);
	return 0;
}
