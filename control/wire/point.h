/**
 * A data point of a series as a message (docs/internals/wire.md, stats).
 */
#ifndef OFFHOOK_WIRE_POINT_H
#define OFFHOOK_WIRE_POINT_H

#include "control/wire/job_limits.h"
#include "control/wire/measure.h"
#include "media/analysis/summary.h"

#include <jansson.h>

struct wire_point {
	const char *role;
	bool outgoing; /* dir: false "in", true "out" */
	enum measure measure;
	int64_t t_s;           /* interval start, s since 1970, multiple of the
			    * reporting interval */
	struct distribution d; /* d.n > 0 */
	json_t *sketch;        /* encoded sketch or NULL; borrowed */
};

/** Encode a point. @return a new object; NULL: out of memory */
json_t *wire_point_encode(const struct wire_point *point);

/** Decode a point. Its strings are borrowed from object.
 * @return 0; -EINVAL with reason */
int wire_point_decode(struct wire_point *ret, json_t *object,
		      char reason[static WIRE_REASON_BYTES]);

#endif
