/**
 * Lists of records in one unlinked temporary file, as they may be too many for
 * memory. All records have the same size; a list (chain) is linked backwards.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_CHAIN_FILE_H
#define OFFHOOK_CAPTURE_CHAIN_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct chain_file {
	FILE *file; /* NULL until the first record */
	size_t record_bytes;
	uint64_t count;
	uint64_t max;
	uint64_t left_out; /* above the ceiling, or the disk was full */
};

/** One chain; all zero: empty. */
struct chain {
	uint64_t last; /* number of its newest record + 1 */
	uint64_t count;
};

/** Make an empty file. @param max  records; more are counted in left_out */
void chain_file_init(struct chain_file *s, size_t record_bytes, uint64_t max);
/** Close and so delete the file. */
void chain_file_release(struct chain_file *s);

/** Append a record to a chain, or count it in left_out. */
void chain_file_add(struct chain_file *s, struct chain *chain,
		    const void *record);

/** Gets one record. @return non-zero to stop */
typedef int(chain_file_h)(const void *record, void *arg);

/**
 * Read all records of a chain in the order they were added.
 * @return 0; what the handler returned; -ENOMEM, -EIO
 */
int chain_file_walk(struct chain_file *s, const struct chain *chain,
		    chain_file_h *handler, void *arg);

#endif
