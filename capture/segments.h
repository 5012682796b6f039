/**
 * SIP messages of TCP connections, put together from their segments: in any
 * order, repeated, several messages in a segment or one in several.
 * Source: RFC 3261 section 18.3 (Content-Length), RFC 9293
 * Thread: one owner. At most SEGMENT_SETS * SEGMENT_WAYS directions of
 * connections at a time, 64 KiB each; the one heard longest ago makes room.
 */
#ifndef OFFHOOK_CAPTURE_SEGMENTS_H
#define OFFHOOK_CAPTURE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/datagram.h"

#define SEGMENT_SETS  64
#define SEGMENT_WAYS  4
#define SEGMENT_BYTES 65536 /* of a message; longer ones are cut */

struct segment_flow;

/** All zero: empty. */
struct segments {
	struct segment_flow *flow[SEGMENT_SETS][SEGMENT_WAYS];
	uint64_t calls;
};

/** One message. @param cut  its end is not there */
typedef void(segments_h)(const uint8_t *data, size_t bytes, bool cut,
			 void *arg);

/** One segment (DATAGRAM_IS_TCP) of any connection. One is followed from a
 * segment on that begins as a SIP message. */
void segments_take(struct segments *s, const struct datagram *d,
		   segments_h *handler, void *arg);

/** No more come: hand on what is there. */
void segments_flush(struct segments *s, segments_h *handler, void *arg);

void segments_release(struct segments *s);

#endif
