/**
 * A wait-free ring of RTP payloads with one producer and one consumer. Payloads
 * may have any length up to PAYLOAD_BYTES_MAX. A full ring drops and counts the
 * newest payload: the producer never blocks.
 */
#ifndef OFFHOOK_MEDIA_PAYLOAD_RING_H
#define OFFHOOK_MEDIA_PAYLOAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* L16 at 44100 Hz: 10584 bytes in 120 ms. */
#define PAYLOAD_BYTES_MAX 12288

#define PAYLOAD_RING_BYTES_MIN 65536

/** Header of each payload. */
struct payload {
	int64_t mono_ns;
	uint32_t slot; /* of the session */
	uint32_t ssrc;
	uint32_t ts;
	uint16_t seq;
	uint16_t bytes;
	uint8_t pt;
	bool marker; /* of received packets only */
	bool sent;
};

struct payload_ring;

/** @param bytes  size of the ring, a power of two, >= PAYLOAD_RING_BYTES_MIN
 * @return 0; -EINVAL; -ENOMEM */
int payload_ring_new(struct payload_ring **ret, size_t bytes);
/** @param r  may be NULL
 * @return NULL */
struct payload_ring *payload_ring_free(struct payload_ring *r);

/** Copy a payload into the ring. Thread: the producer.
 * @param data  head->bytes bytes, borrowed
 * @return false: full, or too long; counted */
bool payload_ring_push(struct payload_ring *r, const struct payload *head,
		       const void *data);

/** Read the header of the oldest payload and keep it in the ring. Thread: the
 * consumer.
 * @return false: empty */
bool payload_ring_peek(struct payload_ring *r, struct payload *ret_head);

/** Remove the oldest payload. Thread: the consumer.
 * @param data  room for PAYLOAD_BYTES_MAX
 * @return false: empty */
bool payload_ring_pop(struct payload_ring *r, struct payload *ret_head,
		      uint8_t *data);

/** @return number of payloads dropped. Thread: any. */
uint64_t payload_ring_dropped(const struct payload_ring *r);

#endif
