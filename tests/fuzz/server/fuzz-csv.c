/* A CSV table from a client, as text without NUL. */
#include "control/server/api/csv.h"
#include "control/server/request/path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(unsigned line, json_t *row, void *arg)
{
	unsigned *last = arg;
	const char *name;
	json_t *value;

	if (line <= *last || !json_is_object(row))
		abort();
	*last = line;
	json_object_foreach(row, name, value)
	{
		if (!name[0] || json_string_length(value) == 0)
			abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char reason[CSV_REASON_BYTES] = "";
	unsigned last = 0;
	int err = csv_read(text, look, &last, reason);

	if (err < 0 && !reason[0] && utf8_valid(text, strlen(text)))
		abort();
	free(text);
	return 0;
}
