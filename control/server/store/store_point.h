/**
 * The points of runs: the one place that knows how they are stored. Table `point_block`
 * has blocks (point_block.h) of a lease:
 *
 * - of an upload, with its points of all series (series_id 0), as it was appended;
 * - of one series: an upload with many points a series, or POINTS_FOLD uploads that were
 *   folded together. So an upload writes a row, not a row a series, and a reader of one
 *   series reads little else.
 *
 * Of the points that a lease has for a series and time, the one of the first upload counts.
 * Thread: the owner of the connection.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_POINT_H
#define OFFHOOK_SERVER_STORE_STORE_POINT_H

#include "base/str.h"
#include "control/server/store/point_block.h"

struct db;

/* ---- writing, within the caller's transaction ---- */

/* A lease has fewer blocks of uploads: so many are folded, or so many bytes. */
#define POINTS_FOLD       32
#define POINTS_FOLD_BYTES (8 * 1024 * 1024)
/* An upload with so many points a series, on the average, is stored by series. */
#define POINTS_DENSE 16

struct point_entry {
	int64_t series_id;
	struct series_point p;
};

struct points_upload {
	int64_t run_id;
	const char *lease_id;
	int64_t seq; /* the lease's; no other upload has it */
	const struct point_entry *entries;
	size_t count;
};

/** Store the points of an upload. @return 0; -EIO; -ENOMEM; -EMSGSIZE */
int points_add(struct db *db, const struct points_upload *upload);

/** Store the points of an upload by series, however few they are. @return as
 * points_add() */
int points_add_by_series(struct db *db, const struct points_upload *upload);

/**
 * Store points of one series as a block.
 * @param upload  its entries are not looked at
 * @param points  by time
 * @param bytes   in/out: those of the block are added
 * @return as points_add()
 */
int points_write(struct db *db, const struct points_upload *upload,
		 int64_t series_id, const struct series_point *points,
		 size_t count, size_t *bytes);

/** Fold what is left of the uploads of a run, but of leases with a damaged one. @return as
 * points_add() */
int points_fold(struct db *db, int64_t run_id);

/** Delete blocks of a run, in their order. @param max  of them
 * @return how many; -EIO */
int points_delete(struct db *db, int64_t run_id, int64_t max);

/* ---- reading ---- */

struct points_query {
	int64_t run_id;
	/* each NULL: all */
	const char *const *measures; /* ended by NULL */
	const char *role;
	const char *dir;
	bool judged;  /* without shards that were lost */
	bool by_name; /* series by measure, role (descending), dir; else by id */
};

/* A point and whose it is; both borrowed. */
struct lease_point {
	struct series_point p;
	const char *lease_id;
	int64_t seq; /* of an upload; the order of those with one time */
};

struct points_series {
	int64_t id;
	const char *role, *dir, *measure;
	const struct lease_point *points; /* by time, then lease */
	size_t count;                     /* >= 1 */
};

/** Called per series, borrowed until it returns. @return 0; else stop */
typedef int(points_series_h)(const struct points_series *series, void *arg);

/**
 * Read the points of a run; none if its metrics were removed. Memory: what the database
 * has of one series, and the blocks of uploads.
 * @return 0; -EIO; -ENOMEM; -EBADMSG a block is damaged, the log has which; or the handler's
 *         value
 */
int points_read(struct db *db, const struct points_query *query,
		points_series_h *series_h, void *arg);

#endif
