/**
 * A quantile sketch on the wire (docs/internals/wire.md, Statistics).
 * Thread: the owner's
 */
#ifndef OFFHOOK_WIRE_SKETCH_H
#define OFFHOOK_WIRE_SKETCH_H

#include "media/analysis/sketch.h"

#include <jansson.h>

/** Encode a sketch. @return a new object; NULL: out of memory */
json_t *wire_sketch_encode(const struct sketch *s);

/**
 * Add the counts of an encoded sketch.
 * @param into     in/out; all zeros: empty
 * @param encoded  borrowed, may be NULL; any JSON value
 * @return 0; -EINVAL malformed, an accuracy other than SKETCH_ACCURACY, or an
 *         index outside SKETCH_INDEX_MIN..SKETCH_INDEX_MAX (into unchanged)
 */
int wire_sketch_add(struct sketch *into, const json_t *encoded);

#endif
