/**
 * The directions of a stream in SDP (RFC 4566 section 6). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_DIRECTION_H
#define OFFHOOK_SIP_SDP_SDP_DIRECTION_H

#include <stdbool.h>

#include "base/span.h"
#include "media/params.h"

/** We send, or receive, in this direction. */
bool sdp_sends(enum media_direction direction);
bool sdp_receives(enum media_direction direction);
enum media_direction sdp_direction(bool sends, bool receives);

/** The attribute. @return static text */
const char *sdp_direction_name(enum media_direction direction);
/** @return false: it is another attribute, *ret is untouched */
bool sdp_direction_parse(enum media_direction *ret, struct span attribute);

#endif
