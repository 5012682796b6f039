/**
 * Reports of finished runs for other programs and for people: JUnit XML, a
 * Markdown summary, an HTML page that needs nothing else.
 *
 * The input is JSON as the API has it. A report is an object:
 *
 *   run            `run` of GET /runs/ID. Used: status, session_id,
 *                  test_name, testcase_name, project_name, agentpool_name,
 *                  attempt, started_at, stopped_at, result_description,
 *                  report_url, shards_lost, warnings
 *   verdicts       array of verdicts (docs/reference/conditions.md)
 *   calls, registrations
 *                  arrays of the events of these kinds (docs/internals/wire.md)
 *   agents         array of {role, name}
 *   shards         array as `shards` of GET /runs/ID
 *   calls_omitted  number of calls beyond those of `calls`
 *   figures        figures_json(): those of all calls and registrations, where
 *                  `calls` and `registrations` are only the first ones
 *   figures_omitted
 *                  number of calls that `figures` are not of
 *   series         array of {role, dir, measure, unit, points}
 *   messages       array of SIP messages {t_ms, role, dir, transport, peer,
 *                  line, text}
 *   messages_omitted
 *                  number of messages beyond those
 *
 * as GET /run/details/SESSION/data has them (docs/reference/report.md). Every
 * member but `run` may be absent. Any text may be hostile: it stays text. What
 * exceeds a ceiling is left out, and the report says so.
 * Pure; thread: any.
 */
#ifndef OFFHOOK_RENDER_RENDER_H
#define OFFHOOK_RENDER_RENDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Ceilings for the buffers. Reports keep below them by themselves. */
#define RENDER_JUNIT_BYTES    ((size_t)64 << 20)
#define RENDER_MARKDOWN_BYTES ((size_t)1 << 20) /* GitHub's, of a summary */
#define RENDER_HTML_BYTES     ((size_t)64 << 20)

enum render_format {
	RENDER_JUNIT,
	RENDER_MARKDOWN,
	RENDER_HTML,
};

/** A document while it is written; fields are this room's own. */
struct render {
	struct buf *out;
	enum render_format format;
	bool is_several; /* a document of several runs */
	size_t runs;     /* rendered so far */
	size_t left_out; /* runs for which there was no room */
};

/**
 * Begin a document.
 * @param r       initialized; out is borrowed until render_end()
 * @param head    NULL: of one run. Else {project_name, run_status, created_at,
 *                stopped_at, report_url, runs: [{test_name, status, attempt,
 *                session_id, result_description}]}
 * @return 0; -ENOMEM; -EMSGSIZE the buffer's ceiling (out: incomplete)
 */
int render_begin(struct render *r, enum render_format format, struct buf *out,
		 const json_t *head);

/** Append a run. @param report  borrowed; as above @return as render_begin() */
int render_run(struct render *r, const json_t *report);

/** End the document. @return as render_begin() */
int render_end(struct render *r);

#endif
