/*
 * Templates and URLs of callbacks, which users write: text up to the first NUL.
 */
#include "control/server/callback/address.h"
#include "control/server/callback/render.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void render(const char *template, const char *type, json_t *run)
{
	struct buf out;

	buf_init(&out, RENDER_BYTES_MAX);
	(void)render_template(&out, template, type, run);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char unknown[RENDER_NAME_BYTES], reason[CALLBACK_REASON_BYTES];
	json_t *run =
		json_pack("{s:s, s:i}", "test_name", "a\"&<\x01", "id", 1);
	struct netlist none = {.count = 0};

	if (render_check(text, unknown) == 0 && unknown[0])
		abort();
	render(text, "application/json", run);
	render(text, "text/xml", run);
	render(text, "application/x-www-form-urlencoded", run);
	if (callback_url_check(text, &none, reason) &&
	    strncmp(reason, "must ", 5) != 0)
		abort();
	json_decref(run);
	free(text);
	return 0;
}
