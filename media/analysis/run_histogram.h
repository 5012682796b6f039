/**
 * How many runs of bad packets had which length: every run, however long.
 * Lengths below RUN_LENGTHS_SHORT are counted in place; longer ones stand in
 * memory of the owner, which grows with the number of different lengths:
 * at most the root of twice the packets of the stream.
 * Docs: docs/reference/measurement.md "Loss patterns"
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RUN_HISTOGRAM_H
#define OFFHOOK_MEDIA_ANALYSIS_RUN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define RUN_LENGTHS_SHORT 256
/* More long runs than one packet can end in a pattern: its window holds three,
 * and a packet before it and a new segment may end three each. */
#define RUN_HISTOGRAM_ROOM 16

struct run_length {
	uint64_t length;
	uint64_t runs;
};

/** All zero: empty, without room for long runs. */
struct run_histogram {
	uint64_t shorter[RUN_LENGTHS_SHORT]; /* by length; 0 unused */
	/* the owner makes room before each packet */
	struct run_length *longer; /* by ascending length */
	size_t count;
	size_t room;       /* entries that `longer` has memory for */
	uint64_t left_out; /* long runs that came without room */
};

/** @param length  > 0 */
void run_histogram_add(struct run_histogram *h, uint64_t length);

#endif
