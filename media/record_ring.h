/**
 * A ring of records (struct media_record) from one media thread to the loop.
 * It holds no more than the loop is sized for, and counts what finds no room.
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
	uint64_t pushed;          /* the producer's */
	_Atomic uint64_t polled;  /* the loop's */
	_Atomic uint64_t dropped; /* the producer's, any thread reads */
};

/** @param max  records; a power of two @return 0; -ENOMEM */
int record_ring_open(struct record_ring *r, size_t max);
void record_ring_close(struct record_ring *r);

/** There is no room. Thread: the producer. */
bool record_ring_full(const struct record_ring *r);

/** Thread: the producer. @return false: there is no room; not counted */
bool record_ring_push(struct record_ring *r, const struct media_record *record);

/** The same; what finds no room is counted as dropped. Thread: the producer. */
void record_ring_push_or_drop(struct record_ring *r,
			      const struct media_record *record);

/** A place to write the next record to, before record_ring_commit(). Thread:
 * the producer. @return NULL: there is no room; not counted */
struct media_record *record_ring_reserve(struct record_ring *r);
void record_ring_commit(struct record_ring *r);

/** Count a record that was not even tried. Thread: the producer. */
void record_ring_drop(struct record_ring *r);

/** Take the oldest one. Thread: the loop. @return false: there is none */
bool record_ring_pop(struct record_ring *r, struct media_record *ret);

#endif
