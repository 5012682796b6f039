/**
 * Points of series as bytes: a block of point_block.block. A block has groups, each
 * with points of one series; a point is 4 bytes or more.
 *
 *   block   version (1 byte: 1), groups
 *   group   series (varint), points (varint, >= 1), bytes (varint), the points
 *   point   t less that of the point before (zigzag varint), n (varint), which values
 *           follow (1 byte), values, length of the sketch + 1 (varint; 0: none), its text
 *   values  stddev, min, median, avg, p75, p90, p95, max: IEEE 754 binary64, least
 *           significant byte first. One whose bit (1 << index) is 0 has the bits of the
 *           one before; before stddev is 0.
 *   varint  7 bits a byte, the least significant first, bit 7: more follow; at most 10 bytes
 *
 * What was added comes back bit for bit.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_STORE_POINT_BLOCK_H
#define OFFHOOK_SERVER_STORE_POINT_BLOCK_H

#include "control/wire/json_text.h"
#include "control/wire/point.h"

struct buf;

/* A point of a series. */
struct series_point {
	int64_t t_s; /* interval start, s since 1970 */
	struct distribution d;
	struct json_text sketch; /* as received, borrowed; at NULL: none */
};

/* Ceiling of a block. It is longer than the upload that it is of, or those that were folded
 * (POINTS_FOLD_BYTES), unless body_limit is as high. */
#define POINT_BLOCK_BYTES_MAX (256 * 1024 * 1024)

/** Begin a block in an empty buffer. @return as buf_add() */
int point_block_begin(struct buf *block);

/**
 * Append a group.
 * @param series_id  >= 1
 * @param count      >= 1
 * @return as buf_add(); the block is of no use then
 */
int point_block_add(struct buf *block, int64_t series_id,
		    const struct series_point *points, size_t count);

/* The rest of a block, or of a group. */
struct point_block {
	const uint8_t *at, *end; /* borrowed */
};

struct point_group {
	int64_t series_id;
	size_t count; /* points that were not read yet */
	struct point_block points;
	int64_t t_s; /* of the point before */
};

/** Open a block. @return 0; -EBADMSG it is empty, or of another version */
int point_block_open(struct point_block *ret, const void *bytes, size_t len);

/** Find the next group. @return 1; 0 there is none; -EBADMSG */
int point_block_next(struct point_block *block, struct point_group *ret);

/** Read the next point of a group. @return 1; 0 there is none; -EBADMSG */
int point_group_next(struct point_group *group, struct series_point *ret);

/**
 * Check a stored block to its last byte.
 * @param series_id  of its only group; 0: it has one or more of any series
 * @return points; -EBADMSG
 */
int64_t point_block_check(const void *bytes, size_t len, int64_t series_id);

#endif
