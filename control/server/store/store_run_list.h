/**
 * Lists of runs, and what clients that poll a run get: rows as JSON text
 * (docs/reference/api.md).
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RUN_LIST_H
#define OFFHOOK_SERVER_STORE_STORE_RUN_LIST_H

#include "control/server/store/record.h"

#include <stdbool.h>

struct buf;

/* Ceiling of pairs of filtername and filterval in one request. */
#define RUN_FILTERS_MAX 20

struct run_filter {
	const char *name; /* one of the columns of docs/reference/api.md */
	const char *value;
};

struct run_query {
	const struct run_filter *filters;
	size_t filter_count;
	const char *order_by; /* a column, as above */
	bool descending;
	bool has_start_date; /* started after */
	int64_t start_date_s;
	bool has_end_date; /* started before */
	int64_t end_date_s;
	struct page page;
};

/** True if runs can be sorted and filtered by this column. */
bool store_run_column(const char *name);

/** True if the column can have this value (numbers, times). */
bool store_run_value(const char *name, const char *value);

/**
 * List runs.
 * @param text  a JSON array is appended; after an error it is incomplete
 * @return 0; -EINVAL a name or value that the functions above refuse, or too
 *         many filters; -EIO; -EBUSY; -ENOMEM; -EMSGSIZE
 */
int store_run_list(struct store *s, const struct run_query *query,
		   struct buf *text, int64_t *total);

/** An answer for clients that poll. */
struct run_status {
	struct buf *text; /* a finished run is appended as a JSON object */
	bool alias;       /* in: session_status_alias, run_status_alias() */
	bool finished;    /* out; false: in progress, nothing was appended */
};

/**
 * Read what GET /runs/ID/status shows of a run. Clients poll it, so no tree is
 * built. Attempts (retries_on_failure) are followed: the run is in progress
 * until its last attempt is over; then that attempt is appended, with `attempt`
 * and `retry_of`.
 * @return 0; -ENOENT; -EIO; -ENOMEM; -EMSGSIZE
 */
int store_run_status(struct store *s, const char *id_or_uuid,
		     struct run_status *status);
/** As store_run_status(), for the latest run of a test. */
int store_run_status_last(struct store *s, int64_t test_id,
			  struct run_status *status);

#endif
