/**
 * The capture file of an engine: a thread writes the packets that the RX and TX
 * threads copy (media/packet_copy.h) to one file, in order of time.
 * Docs: docs/internals/media.md
 * Thread: loop, all functions.
 */
#ifndef OFFHOOK_MEDIA_CAPTURE_PACKET_CAPTURE_H
#define OFFHOOK_MEDIA_CAPTURE_PACKET_CAPTURE_H

#include "media/media.h"
#include "media/payload_ring.h"

#include <stddef.h>
#include <stdint.h>

struct packet_capture;

/** Producers of copies. */
enum packet_capture_from {
	PACKET_CAPTURE_RX,
	PACKET_CAPTURE_TX,
	PACKET_CAPTURE_FROM_COUNT
};

/* Memory of a ring: more than a second of 1000 calls with their payload. */
#define PACKET_CAPTURE_RING_BYTES (16u << 20)

/**
 * Create the file and start the thread, which takes no signals. A file that
 * cannot be created is reported by packet_capture_end().
 * @param params      copied; the path only during the call
 * @param ring_bytes  a power of two, >= PAYLOAD_RING_BYTES_MIN
 * @return 0; -ENOMEM; -EINVAL; -errno
 */
int packet_capture_new(struct packet_capture **ret,
		       const struct media_capture_params *params,
		       size_t ring_bytes);

/** The ring of a producer; owned by the capture. */
struct payload_ring *packet_capture_ring(const struct packet_capture *c,
					 enum packet_capture_from from);

/** Write what is in the rings, close the file and end the thread. Blocks for as
 * long as writing takes. Later copies are lost. @param ret  as of the whole file */
void packet_capture_end(struct packet_capture *c, struct media_captured *ret);

/** Free it, after packet_capture_end() if it was not called.
 * @param c  may be NULL @return NULL */
struct packet_capture *packet_capture_free(struct packet_capture *c);

#endif
