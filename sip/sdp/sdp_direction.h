/**
 * The directions of a stream in SDP (RFC 4566 section 6). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_DIRECTION_H
#define OFFHOOK_SIP_SDP_SDP_DIRECTION_H

#include <stdbool.h>

#include "base/span.h"
#include "media/params.h"

/** Whether the direction includes sending. */
bool sdp_sends(enum media_direction direction);
/** Whether the direction includes receiving. */
bool sdp_receives(enum media_direction direction);
/** The direction that does both, either or neither. */
enum media_direction sdp_direction(bool sends, bool receives);

/** The name of its attribute. @return static text */
const char *sdp_direction_name(enum media_direction direction);
/** Parse an attribute's name. @return false: it is another attribute, *ret is
 * untouched */
bool sdp_direction_parse(enum media_direction *ret, struct span attribute);

#endif
