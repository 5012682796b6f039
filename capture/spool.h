/**
 * Records of one size that may become too many for memory: kept in an
 * unlinked temporary file, in chains.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_SPOOL_H
#define OFFHOOK_CAPTURE_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct spool {
	FILE *file; /* NULL until the first record */
	size_t record_bytes;
	uint64_t count;
	uint64_t max;
	uint64_t left_out; /* beyond the ceiling, or the disk was full */
};

/** One chain; all zero: empty. */
struct spool_chain {
	uint64_t last; /* number of its newest record + 1 */
	uint64_t count;
};

void spool_init(struct spool *s, size_t record_bytes, uint64_t max);
void spool_release(struct spool *s);

/** Append a record; one that cannot be kept is counted. */
void spool_add(struct spool *s, struct spool_chain *chain, const void *record);

/** Return non-zero to stop. */
typedef int(spool_h)(const void *record, void *arg);

/**
 * All records of a chain in the order they were added.
 * @return 0; what the handler returned; -ENOMEM, -EIO
 */
int spool_walk(struct spool *s, const struct spool_chain *chain,
	       spool_h *handler, void *arg);

#endif
