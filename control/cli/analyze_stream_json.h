/**
 * JSON of the figures of one stream.
 */
#ifndef OFFHOOK_CONTROL_CLI_ANALYZE_STREAM_JSON_H
#define OFFHOOK_CONTROL_CLI_ANALYZE_STREAM_JSON_H

#include <jansson.h>

#include "capture/capture.h"

/** n and, if n > 0, the rest. @return new reference; NULL: no memory */
json_t *json_distribution(const struct distribution *d);

/** Addresses, ports and SSRC. @return new reference; NULL: no memory */
json_t *json_key(const struct flow_key *k);

/** Everything but `intervals`.
 *  @param scratch  SKEW_SCRATCH(SKEW_WINDOWS_CAPTURE) doubles
 *  @return new reference; NULL: no memory */
json_t *json_stream(struct capture_stream *s, double *scratch);

json_t *json_interval(const struct capture_interval *i, int64_t interval_ns);

#endif
