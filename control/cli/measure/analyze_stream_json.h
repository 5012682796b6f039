/**
 * JSON of the figures of one stream.
 */
#ifndef OFFHOOK_CONTROL_CLI_MEASURE_ANALYZE_STREAM_JSON_H
#define OFFHOOK_CONTROL_CLI_MEASURE_ANALYZE_STREAM_JSON_H

#include <jansson.h>

#include "capture/capture.h"

/** Encode a distribution: n and, if n > 0, the other figures.
 * @return new reference; NULL: out of memory */
json_t *json_distribution(const struct distribution *d);

/**
 * Encode all figures of a stream except `intervals`.
 * @param scratch  SKEW_SCRATCH(SKEW_WINDOWS_CAPTURE) doubles
 * @return new reference; NULL: out of memory
 */
json_t *json_stream(struct capture_stream *s, double *scratch);

json_t *json_interval(const struct capture_interval *i, int64_t interval_ns);

#endif
