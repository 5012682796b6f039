/**
 * A wait-free ring of fixed-size records for one producer and one consumer.
 * Both indices run freely and are masked on use; the record count is a power
 * of two. A full ring refuses the newest record and counts it: the producer
 * never blocks (rtp-analysis 6.1).
 */
#ifndef OFFHOOK_BASE_RING_H
#define OFFHOOK_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

/**
 * Make a ring.
 * @param record_bytes  size of a record, > 0
 * @param records       a power of two
 * @return 0; -EINVAL; -ENOMEM
 */
int ring_new(struct ring **ret, size_t record_bytes, size_t records);

/** Release the ring; neither side may use it any more. @return NULL */
struct ring *ring_free(struct ring *r);

/**
 * The place of the next record, to be filled where it lies; ring_commit()
 * hands it over. Until then the same place is given again.
 * Thread: the producer only; never blocks.
 * @return NULL if the ring is full (counted in ring_dropped())
 */
void *ring_reserve(struct ring *r);
void ring_commit(struct ring *r);

/** Copy a record in: reserve and commit. @return false if the ring is full */
bool ring_push(struct ring *r, const void *record);

/**
 * The oldest record, where it lies; ring_release() gives its place back.
 * Thread: the consumer only; never blocks.
 * @return NULL if the ring is empty
 */
const void *ring_front(struct ring *r);
void ring_release(struct ring *r);

/**
 * The record `ahead` places after the oldest, if the consumer knows of it
 * already: what comes soon, to be prepared for.
 * Thread: the consumer only; never blocks. After a ring_front() that was not
 * NULL, until ring_release().
 * @return NULL: none known
 */
const void *ring_ahead(const struct ring *r, size_t ahead);

/** Copy the oldest record out, and release it. @return false if the ring is
 * empty */
bool ring_pop(struct ring *r, void *record);

/** Records refused because the ring was full. Thread: any. */
uint64_t ring_dropped(const struct ring *r);

#endif
