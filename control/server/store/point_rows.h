/**
 * Rows of `point_block` in memory, and the groups of points in them.
 * Included by store_point*.c only.
 * Thread: the owner.
 */
#ifndef OFFHOOK_SERVER_STORE_POINT_ROWS_H
#define OFFHOOK_SERVER_STORE_POINT_ROWS_H

#include "control/server/store/store_db.h"
#include "control/server/store/store_point.h"

struct point_row {
	int64_t series_id, seq;
	char lease_id[UUID_TEXT_BYTES];
	size_t len;
	uint8_t bytes[];
};

struct point_rows {
	struct point_row **all; /* owned */
	size_t count, room;
};

/* What point_rows_row() reads, in this order. */
#define POINT_ROW_COLUMNS "series_id, lease_id, seq, block"

/** A db_row_h. @param arg  struct point_rows, gets a copy of the row */
int point_rows_row(const struct db_value *row, size_t columns, void *arg);
void point_rows_clear(struct point_rows *rows);
/** Say so in the log. @return -EBADMSG */
int point_row_damaged(const struct point_row *row);

/* A group of a row; both borrowed. */
struct found_group {
	const struct point_row *from;
	struct point_group group;
};

struct point_groups {
	struct found_group *all; /* owned: free() */
	size_t count, room;
};

/** Append a group. @return 0; -ENOMEM */
int point_groups_add(struct point_groups *groups, const struct point_row *from,
		     const struct point_group *group);

/** Append the groups of rows, and sort all by series, lease and upload.
 * @return 0; -EBADMSG a row is damaged, the log has which; -ENOMEM */
int point_groups_find(struct point_groups *groups,
		      const struct point_rows *rows);

/** @return how many points groups have */
size_t point_groups_points(const struct found_group *groups, size_t count);

/**
 * Append the points of groups.
 * @param points  array to append to; it has room for the points of all groups and for
 *                one more
 * @param count   in/out
 * @return 0; -EBADMSG as of point_groups_find()
 */
int lease_points_add(const struct found_group *groups, size_t groups_count,
		     struct lease_point *points, size_t *count);

/** Sort points by time and lease, and leave out all but the first upload's.
 * @return 0; -ENOMEM (nothing is changed) */
int lease_points_sort(struct lease_point **points, size_t *count);

#endif
