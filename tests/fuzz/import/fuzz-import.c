/* Any bytes as a capture file: each of its calls becomes a test, plain and
 * anonymised, and all of them one file, that is written as YAML. */
#include "control/import/call_capture.h"
#include "control/import/test_code.h"
#include "control/yaml/yaml_write.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* @param c  NULL: all */
static void make(struct dialogs *d, struct dialogs_call *c, bool anonymise)
{
	const struct test_code_options options = {
		.anonymise = anonymise,
		.expect_failure = anonymise,
		.agent_pool = "lab",
	};
	json_t *document, *notes;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (c ? test_code_make(d, c, &options, &document, &notes)
	      : test_code_make_all(d, &options, &document, &notes))
		return;
	out = open_memstream(&text, &bytes);
	if (!out || yaml_write(out, document))
		abort();
	fclose(out);
	free(text);
	json_decref(document);
	json_decref(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[CALL_CAPTURE_REASON_BYTES];
	struct dialogs *d = NULL;
	struct source source;

	source_open_memory(&source, data, size);
	call_capture_read(&source, NULL, &d, reason);
	for (size_t i = 0; d && i < dialogs_call_count(d); i++) {
		make(d, dialogs_call(d, i), false);
		make(d, dialogs_call(d, i), true);
	}
	if (d)
		make(d, NULL, true);
	dialogs_free(d);
	source_close(&source);
	return 0;
}
