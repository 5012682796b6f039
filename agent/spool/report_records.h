/**
 * Writes what an engine reports into the spool of its lease. Arrays that are too
 * long for one upload are split. Statistics that find the spool full, what finds
 * the disk full, and items that no upload can hold, are counted, and reported to the
 * controller as flaws of the run.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SPOOL_REPORT_RECORDS_H
#define OFFHOOK_AGENT_SPOOL_REPORT_RECORDS_H

#include "agent/spool/spool.h"

#include <jansson.h>

/* Below the smallest body_limit of a controller. */
#define REPORT_UPLOAD_BYTES 262144u

/* Zeroed but for spool. */
struct report_records {
	struct spool *spool; /* borrowed */
	uint64_t dropped;    /* data points without room, not reported yet */
	uint64_t too_long;   /* items above SEGMENT_TEXT_BYTES, likewise */
	uint64_t disk_full;  /* items that the disk has not taken, likewise */
	int64_t told_ns;     /* when a flaw was written last; 0: never */
	int err;             /* the first failure to write; 0: none */
};

/**
 * Keep an array of series, events or messages.
 * @param items  borrowed; not an array: ignored
 * @param text   items as len bytes of JSON, kept as they are; NULL: items are
 *               printed
 * @return 0; -errno the spool takes no more (kept in report.err)
 */
int report_records_items(struct report_records *r, enum record_kind kind,
			 json_t *items, const char *text, size_t len);

/**
 * Append an event artifact_lost: an artifact does not reach the controller.
 * @param name  as it came from the engine
 * @return 0; -errno
 */
int report_records_lost(struct report_records *r, const char *name,
			const char *why);

/**
 * Append the flaws that were not reported yet, before the outcome.
 * @param error  in/out: where they have no room and it is empty, a sentence about
 *               what was dropped, for the outcome
 */
void report_records_untold(struct report_records *r, char *error, size_t size);

/**
 * Append the outcome of the job.
 * @return 0; -errno: it is delivered, but does not survive a crash of the process
 */
int report_records_finish(struct report_records *r, const char *outcome,
			  const char *reason);

#endif
