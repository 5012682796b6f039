/**
 * A ring of records (struct media_record) from one media thread to the loop. It
 * holds at most `max` records and counts those that do not fit.
 */
#ifndef OFFHOOK_MEDIA_RECORD_RING_H
#define OFFHOOK_MEDIA_RECORD_RING_H

#include "media/media.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All zero: not open. */
struct record_ring {
	struct ring *ring;
	size_t max;               /* records */
	uint64_t pushed;          /* written by the producer */
	_Atomic uint64_t polled;  /* written by the loop */
	_Atomic uint64_t dropped; /* written by the producer, any thread
				   * reads */
};

/** @param max  records; a power of two @return 0; -ENOMEM */
int record_ring_open(struct record_ring *r, size_t max);
/** Free the ring; it may not be open. */
void record_ring_close(struct record_ring *r);

/** @return there is no room. Thread: the producer. */
bool record_ring_full(const struct record_ring *r);

/** Thread: the producer.
 * @return false: there is no room; not counted */
bool record_ring_push(struct record_ring *r, const struct media_record *record);

/** The same, but a record that does not fit is counted as dropped. Thread: the
 * producer. */
void record_ring_push_or_drop(struct record_ring *r,
			      const struct media_record *record);

/** Reserve a place for the next record; fill it, then call
 * record_ring_commit(). Thread: the producer.
 * @return NULL: there is no room; not counted */
struct media_record *record_ring_reserve(struct record_ring *r);
/** Hand the record of record_ring_reserve() to the loop. Thread: the
 * producer. */
void record_ring_commit(struct record_ring *r);

/** Count a record as dropped without trying to push it. Thread: the producer.
 */
void record_ring_drop(struct record_ring *r);

/** Remove the oldest record. Thread: the loop.
 * @return false: the ring is empty */
bool record_ring_pop(struct record_ring *r, struct media_record *ret);

#endif
