/**
 * The streams of a run, by role and SSRC, as its report has them.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_RESCORE_RUN_STREAMS_H
#define OFFHOOK_CONTROL_RESCORE_RUN_STREAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** An index of a report. @param report  GET /run/details/SESSION/data
 * @return new reference; NULL: no memory */
json_t *run_streams_new(const json_t *report);

/** Find a stream. @return borrowed; NULL: the report has none */
const json_t *run_streams_find(const json_t *streams, const char *role,
			       uint32_t ssrc);

/** True for one that the role has sent. */
bool run_stream_sent(const json_t *stream);

#endif
