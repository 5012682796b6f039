/**
 * Reassembles the SIP messages of TCP connections. Segments may come in any order
 * and more than once; a segment may hold several messages, and a message may span
 * several segments.
 * Source: RFC 3261 section 18.3 (Content-Length), RFC 9293
 * Thread: one owner. At most SEGMENT_SETS * SEGMENT_WAYS directions of
 * connections at a time, 64 KiB each; a new one replaces the least recently used
 * one.
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

/** Gets one message. @param cut  the end of the message is missing */
typedef void(segments_h)(const uint8_t *data, size_t bytes, bool cut,
			 void *arg);

/** Take a segment (DATAGRAM_IS_TCP) of any connection. A connection is followed from
 * the first segment that begins with a SIP message. */
void segments_take(struct segments *s, const struct datagram *d,
		   segments_h *handler, void *arg);

/** No more segments come: hand out the incomplete messages. */
void segments_flush(struct segments *s, segments_h *handler, void *arg);

/** Free all connections. */
void segments_release(struct segments *s);

#endif
