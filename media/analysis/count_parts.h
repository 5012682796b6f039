/**
 * Counts of the buckets of a stream's histograms, in parts of 16 adjacent
 * buckets. Most buckets are never counted: a part takes memory when one of its
 * buckets is counted first. The first parts that a stream uses lie in the
 * stream itself, further ones in memory of its owner, which has room for all.
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_COUNT_PARTS_H
#define OFFHOOK_MEDIA_ANALYSIS_COUNT_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/prefetch.h"

#define COUNT_PART_BUCKETS 16
/** Parts of a histogram. */
#define COUNT_PARTS_OF(buckets) \
	(((buckets) + COUNT_PART_BUCKETS - 1) / COUNT_PART_BUCKETS)

/** A cache line. */
struct count_part {
	uint32_t counts[COUNT_PART_BUCKETS]; /* saturating */
};

/* Parts in the stream: the number that a steady stream uses. */
#define COUNT_PARTS_FIRST 16

/** The parts of all histograms of a stream. They are numbered from 1 in the
 * order of their first count; a histogram keeps a number for each of its parts,
 * 0: nothing was counted. */
struct count_parts {
	struct count_part *more; /* those after first[]; borrowed */
	uint8_t used;            /* number of the last part */
	_Alignas(PREFETCH_LINE) struct count_part first[COUNT_PARTS_FIRST];
};

/** Initialise. No part is written.
 * @param more  room for the parts beyond COUNT_PARTS_FIRST; any contents */
static inline void count_parts_init(struct count_parts *p,
				    struct count_part *more)
{
	p->more = more;
	p->used = 0;
}

/** @return the part with this number, >= 1 */
static inline struct count_part *count_part_at(struct count_parts *p,
					       uint8_t number)
{
	return number <= COUNT_PARTS_FIRST
		       ? &p->first[number - 1]
		       : &p->more[number - 1 - COUNT_PARTS_FIRST];
}

/** Take a part: all 0.
 * @return its number */
uint8_t count_part_take(struct count_parts *p);

/** Find a part to count in, and take it if nothing was counted in it.
 * @param number  of the histogram
 * @return the part */
static inline struct count_part *count_part_of(struct count_parts *p,
					       uint8_t *number)
{
	if (*number == 0)
		*number = count_part_take(p);
	return count_part_at(p, *number);
}

/** Count in a bucket.
 * @param numbers  of the histogram's parts
 * @return the number of the bucket's part */
static inline uint8_t count_part_add(struct count_parts *p, uint8_t *numbers,
				     size_t bucket)
{
	uint8_t *number = &numbers[bucket / COUNT_PART_BUCKETS];
	uint32_t *count =
		&count_part_of(p, number)->counts[bucket % COUNT_PART_BUCKETS];

	if (*count != UINT32_MAX)
		++*count;
	return *number;
}

#endif
