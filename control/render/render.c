#include "control/render/render.h"

#include "base/buf.h"
#include "control/render/formats.h"

/* Above this size of a document no further run is added. The largest report of
 * one run and this stay below the ceiling of the format. */
static const size_t room[] = {
	[RENDER_JUNIT] = (size_t)24 << 20,
	[RENDER_MARKDOWN] = (size_t)512 << 10,
	[RENDER_HTML] = (size_t)16 << 20,
};

int render_begin(struct render *r, enum render_format format, struct buf *out,
		 const json_t *head)
{
	struct document d = {.out = out};

	*r = (struct render){
		.out = out, .format = format, .is_several = head != NULL};
	switch (format) {
	case RENDER_JUNIT:
		junit_begin(&d, head);
		break;
	case RENDER_MARKDOWN:
		markdown_begin(&d, head);
		break;
	case RENDER_HTML:
		html_begin(&d, head);
		break;
	}
	return d.err;
}

int render_run(struct render *r, const json_t *report)
{
	struct document d = {.out = r->out};
	size_t number;

	if (r->out->used > room[r->format]) {
		r->left_out++;
		return 0;
	}
	r->runs++;
	number = r->is_several ? r->runs : 0;
	switch (r->format) {
	case RENDER_JUNIT:
		junit_run(&d, report, number);
		break;
	case RENDER_MARKDOWN:
		markdown_run(&d, report, number);
		break;
	case RENDER_HTML:
		html_run(&d, report, number);
		break;
	}
	return d.err;
}

int render_end(struct render *r)
{
	struct document d = {.out = r->out};

	switch (r->format) {
	case RENDER_JUNIT:
		junit_end(&d, r->left_out);
		break;
	case RENDER_MARKDOWN:
		markdown_end(&d, r->left_out);
		break;
	case RENDER_HTML:
		html_end(&d, r->left_out);
		break;
	}
	return d.err;
}
