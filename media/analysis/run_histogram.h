/**
 * The number of runs of bad packets by length: all runs, of any length. Lengths
 * below RUN_LENGTHS_SHORT are counted in place. Longer ones need memory of the
 * owner, which grows with the number of different lengths: at most the square
 * root of twice the packets of the stream.
 * Docs: docs/reference/measurement.md "Loss patterns"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RUN_HISTOGRAM_H
#define OFFHOOK_MEDIA_ANALYSIS_RUN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define RUN_LENGTHS_SHORT 256
/* More long runs than one packet can end in a pattern: its window contains at
 * most three, and an earlier packet and a new segment may end three each. */
#define RUN_HISTOGRAM_ROOM 16

struct run_length {
	uint64_t length;
	uint64_t runs;
};

/** All zero: empty, without room for long runs. */
struct run_histogram {
	uint64_t shorter[RUN_LENGTHS_SHORT]; /* by length; index 0 is unused */
	/* the owner must make room before each packet */
	struct run_length *longer; /* by ascending length */
	size_t count;
	size_t room;       /* number of entries allocated in `longer` */
	uint64_t left_out; /* long runs for which there was no room */
};

/** @param length  > 0 */
void run_histogram_add(struct run_histogram *h, uint64_t length);

#endif
