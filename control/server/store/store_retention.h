/**
 * Old runs, and their data by kind, as retention sees them
 * (docs/reference/retention.md). What is due is decided in
 * control/server/retention; how it is deleted is in store_removal.h.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RETENTION_H
#define OFFHOOK_SERVER_STORE_STORE_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

enum retention_kind {
	RETENTION_METRICS,
	RETENTION_SIP,
	RETENTION_ARTIFACTS,
	RETENTION_RUN, /* all of it, events too */
	RETENTION_KINDS
};

/** "metrics", "sip", "artifacts", "runs". */
const char *retention_kind_name(enum retention_kind kind);

/* Besides these, a bit of what is due: the metrics are to be thinned
 * (store_thinning.h). */
#define RETENTION_THIN (1u << RETENTION_KINDS)

/* Bytes of a row's fixed columns with its place in the indexes, as measured in
 * SQLite: 100000 rows of points without sketches take 11.5 MB. */
#define RETENTION_ROW_BYTES 115

/* A run that is over and measured. */
struct retention_run {
	int64_t id;
	int64_t stopped_at; /* ms since 1970 */
	bool keep;
	bool dense;                     /* it has metrics that can be thinned */
	int64_t bytes[RETENTION_KINDS]; /* stored; RETENTION_RUN: all of it */
};

/* Runs that store_retention_measure() measures in one call. */
#define RETENTION_MEASURED_MAX 128

/* How far the runs were looked through; {0}: not yet. */
struct retention_cursor {
	int64_t stopped_at;
	int64_t run_id;
};

/**
 * Measure the next runs that are over and were not measured yet.
 * @param before_ms  that ended before: later uploads are no longer accepted
 * @param cursor     in/out
 * @return number of runs; 0: all are measured; -EIO; -EBUSY
 */
int store_retention_measure(struct store *s, int64_t before_ms,
			    struct retention_cursor *cursor);

/** Sum up what is stored of each kind. @return 0; -EIO */
int store_retention_stored(struct store *s, int64_t ret[RETENTION_KINDS]);

/** @return 0; else stop */
typedef int(retention_run_h)(const struct retention_run *run, void *arg);

/** Read measured runs, those that ended first at first.
 * @return 0; -EIO; the handler's value */
int store_retention_each(struct store *s, retention_run_h *run_h, void *arg);

/* What is to be deleted of one run. */
struct retention_mark {
	int64_t run_id;
	unsigned kinds; /* bits 1u << enum retention_kind, RETENTION_THIN */
};

/**
 * Mark data as deleted, in one transaction: from now on it is shown nowhere; the
 * rows and files are left to store_removal_step(). Metrics that are to be thinned are
 * left to store_thinning_step(). Runs that were given `keep`
 * or were deleted meanwhile are left out.
 * @param text  what is deleted, for the audit log
 * @return 0; -EIO; -EBUSY
 */
int store_retention_mark(struct store *s, const struct retention_mark *marks,
			 size_t count, int64_t now_ms, const char *text);

/** Exempt a run from retention, or end that. @return 0; -ENOENT; -EIO; -EBUSY */
int store_run_keep(struct store *s, int64_t run_id, bool keep);

#endif
