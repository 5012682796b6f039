/**
 * Parts of a series, as the thinning replaces them (store_point.h).
 * Thread: the owner of the connection.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_POINT_PART_H
#define OFFHOOK_SERVER_STORE_STORE_POINT_PART_H

#include "control/server/store/store_point.h"

struct point_rows;

/* Where a part begins: behind this block of the series. */
struct points_cursor {
	int64_t run_id, series_id;
	char lease_id[UUID_TEXT_BYTES]; /* "": the first one */
	int64_t seq;
};

struct points_part {
	struct points_cursor last; /* the last block of the part */
	int64_t first_seq;
	bool lease_ends;             /* the lease has no block behind it */
	size_t blocks;               /* 0: there is none */
	size_t bytes;                /* of them */
	struct series_point *points; /* by time, one a time; owned */
	size_t count;
	struct point_rows *of; /* where their sketches are; owned */
};

/**
 * Read the next blocks of one lease of a series, of at least two unless there is but one:
 * until they have so many points.
 * @param from  its series_id is of the run
 * @return 0; -EIO; -ENOMEM; -EBADMSG
 */
int points_part_read(struct db *db, const struct points_cursor *from,
		     size_t points, struct points_part *ret);
void points_part_release(struct points_part *part);

/**
 * Replace the blocks of a part, within a transaction.
 * @param points  by time; the last `rest` of them stay in the last block, which the next
 *                part begins with
 * @param ret_bytes  of the new blocks
 * @return 0; -EIO; -ENOMEM; -EMSGSIZE
 */
int points_part_replace(struct db *db, const struct points_part *part,
			const struct series_point *points, size_t count,
			size_t rest, size_t *ret_bytes);

#endif
