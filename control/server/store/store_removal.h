/**
 * Deletion in chunks. A run may have millions of rows; one transaction for all of
 * them would keep every other writer waiting. So the run is marked in a short
 * transaction, from which on it is shown nowhere, and its rows are deleted in
 * bounded transactions. What is not done yet stands in the table `removal`, so
 * that it is taken up again after a restart.
 * Thread: the owner of the store; one thread alone carries removals out.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_REMOVAL_H
#define OFFHOOK_SERVER_STORE_STORE_REMOVAL_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct store;

/* Ceiling of rows that one transaction deletes. */
#define REMOVAL_CHUNK_ROWS 2000

/** Delete a run that is over, with all its data: from now on it is shown
 * nowhere, its rows are left to store_removal_step(). The attempts before and
 * after it are linked to each other.
 * @return 0; -ENOENT; -EBUSY it is not over, or a further attempt is due; -EIO */
int store_run_delete(struct store *s, int64_t run_id);

/* Call the next two functions within a transaction. */

/** Mark a run as deleted that is over and shown. @return 0; -EIO */
int run_mark_deleted(struct db *db, int64_t run_id);
/** Note that data of a run is to be deleted. @param kind  "metrics", "sip",
 * "artifacts", "run" @return 0; -EIO */
int removal_add(struct db *db, int64_t run_id, const char *kind);

/* A removal that is not done. */
struct removal {
	int64_t run_id;
	char kind[16];
	bool files; /* the run's files are a part of it */
	char session_id[UUID_TEXT_BYTES];
};

/** Find the removal to carry out next. @return 1; 0 there is none; -EIO */
int store_removal_next(struct store *s, struct removal *ret);

/**
 * Delete up to REMOVAL_CHUNK_ROWS rows, in one transaction. The files of the run
 * are gone before.
 * @return 1 some are left; 0 done, the removal is gone; -EBUSY; -EIO
 */
int store_removal_step(struct store *s, const struct removal *removal);

#endif
