/* Reports of JSON that is anything: no access out of bounds, and no markup but
 * ours in the HTML. */
#include "base/buf.h"
#include "control/render/render.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int render(enum render_format format, struct buf *out,
		  const json_t *report)
{
	struct render r;
	int err = render_begin(&r, format, out, NULL);

	if (!err)
		err = render_run(&r, report);
	return err ? err : render_end(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *report =
		json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	struct buf out;

	if (!report)
		return 0;
	buf_init(&out, RENDER_HTML_BYTES);
	render(RENDER_JUNIT, &out, report);
	render(RENDER_MARKDOWN, &out, report);
	out.used = 0;
	if (render(RENDER_HTML, &out, report) == 0 &&
	    strstr(out.data, "<script"))
		abort();
	buf_release(&out);
	json_decref(report);
	return 0;
}
