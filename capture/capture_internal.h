/**
 * Inside a capture: shared by capture.c (frames go in), capture_expire.c and
 * capture_results.c (figures come out).
 */
#ifndef OFFHOOK_CAPTURE_CAPTURE_INTERNAL_H
#define OFFHOOK_CAPTURE_CAPTURE_INTERNAL_H

#include "capture/candidates.h"
#include "capture/capture.h"
#include "capture/endpoints.h"
#include "capture/fragments.h"
#include "capture/measure.h"
#include "capture/reports.h"
#include "capture/segments.h"

struct capture {
	struct capture_options options;
	struct capture_counters counters;
	struct flow_table table; /* of streams, by key and SSRC */
	struct capture_stream **stream;
	size_t allocated;
	struct capture_stream *last; /* of the packet before */
	struct header_layouts layouts;
	struct rtp_payload_map statics; /* of RFC 3551 */
	struct endpoints endpoints;
	struct candidates candidates;
	struct fragments fragments;
	struct segments segments;
	struct reports reports;
	struct chain_file intervals;
	struct measure_memory memory;
};

#endif
