/**
 * Thinning of metrics: the points of a run that is over are merged to those of a longer
 * interval. Counts, sums, the least and the most stay what they are; percentiles are
 * those of the merged sketches. It is done in bounded transactions; how far it came
 * stands in the table `thinning`, so that it is taken up again after a restart.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_THINNING_H
#define OFFHOOK_SERVER_STORE_STORE_THINNING_H

#include "base/str.h"

#include <stdint.h>

struct db;
struct store;

/* Runs with a shorter reporting interval can be thinned, to its least multiple that is
 * not shorter than this. */
#define THIN_INTERVAL_S 10
/* About so many points are merged in one transaction; an interval is never divided. */
#define THIN_CHUNK_POINTS 1000

/** Begin the thinning of a run, in the caller's transaction: its interval is the new
 * one from now on. A run that has none to be thinned stays as it is. @return 0; -EIO */
int thinning_add(struct db *db, int64_t run_id, int64_t now_ms);

/* A thinning that is not done. */
struct thinning {
	int64_t run_id;
	char session_id[UUID_TEXT_BYTES];
	int64_t interval_s; /* the new one */
	/* what comes next: blocks of points (store_point.h) of this series behind that of
	 * this lease and upload, and later series */
	int64_t series_id;
	char lease_id[UUID_TEXT_BYTES];
	int64_t seq;
};

/** Find the thinning to carry out next. @return 1; 0 there is none; -EIO */
int store_thinning_next(struct store *s, struct thinning *ret);

/**
 * Merge the next points, and note how far it came. Points of which the distribution is
 * not known (no sketch) stay as they are, with others of their interval. So does a series from
 * a damaged block on.
 * @return 1 there is more, or another controller has done this part; 0 done; -EBUSY;
 *         -ENOTCONN; -ENOMEM; -EIO
 */
int store_thinning_step(struct store *s, const struct thinning *t);

#endif
