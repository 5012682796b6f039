/**
 * Store uploads of agents, and read them for the judge and the report. An
 * upload and its sequence number are stored in one transaction: an upload that
 * is repeated is stored once.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_INGEST_H
#define OFFHOOK_SERVER_STORE_STORE_INGEST_H

#include "control/server/store/store_lease.h"
#include "control/wire/json_text.h"
#include "control/wire/point.h"

enum ingest_kind {
	INGEST_STATS,
	INGEST_EVENTS,
	INGEST_SIP
};

struct ingest {
	int64_t agent_id;
	const char *lease_id;
	enum ingest_kind kind;
	int64_t seq;   /* from 1 */
	json_t *items; /* array, borrowed; each checked by ingest_check() */
	/* The text of the items as received: it is stored unchanged. text.at
	 * NULL: not known, the items are printed. */
	struct json_text text;
};

struct ingest_result {
	bool duplicate;      /* received before: nothing was stored */
	const char *command; /* as of lease_renew() */
	int64_t next_seq;
};

/* Ceiling of items of one upload: more than a busy engine makes in a minute. */
#define INGEST_ITEMS_MAX 20000

/**
 * Check those members of every item that are stored.
 * @param role    of the lease, which stats must have; NULL: any
 * @param reason  written on -EINVAL: one sentence with a JSON pointer
 * @return 0; -EINVAL
 */
int ingest_check(enum ingest_kind kind, json_t *items,
		 char reason[static WIRE_REASON_BYTES]);

/**
 * Store an upload.
 * @return 0; -ENOENT, -ESTALE (store_lease.h); -EINVAL stats of another role;
 *         -EIO
 */
int store_ingest(struct store *s, const struct ingest *upload,
		 const struct lease_times *times, struct ingest_result *ret);

/** Called per row, in order of arrival. @return 0; else stop */
typedef int(ingest_row_h)(const char *role, json_t *object, void *arg);
/** As ingest_row_h, with the stored text of the object. */
typedef int(ingest_text_h)(const char *role, struct json_text object,
			   void *arg);

/* `max` of a read without a ceiling. */
#define INGEST_ALL INT64_MAX

/**
 * Read all events of a run.
 * @return 0; -EIO; -ENOMEM; or the handler's value
 */
int store_run_events(struct store *s, int64_t run_id, ingest_row_h *row_h,
		     void *arg);

/**
 * Read events of one kind as text.
 * @param max  at most so many, the first ones
 * @return as store_run_events()
 */
int store_run_event_texts(struct store *s, int64_t run_id, const char *kind,
			  int64_t max, ingest_text_h *text_h, void *arg);

/* What the judge reads is what counts for the verdict: all but the results of shards that
 * were lost. Each is as the function store_run_...() of its name. */
int store_judged_events(struct store *s, int64_t run_id, ingest_row_h *row_h,
			void *arg);
int store_judged_event_texts(struct store *s, int64_t run_id, const char *kind,
			     int64_t max, ingest_text_h *text_h, void *arg);
int store_judged_messages(struct store *s, int64_t run_id, ingest_row_h *row_h,
			  void *arg);

/** Read the first `max` SIP messages of a run, by their arrival. @return as
 * store_run_events() */
int store_run_messages(struct store *s, int64_t run_id, int64_t max,
		       ingest_row_h *row_h, void *arg);

/** Read the first `max` SIP messages of a run, over all agents, by their time.
 * @return as store_run_events() */
int store_run_messages_by_time(struct store *s, int64_t run_id, int64_t max,
			       ingest_row_h *row_h, void *arg);

/** Called per point, which is borrowed until it returns. @return 0; else
 * stop */
typedef int(ingest_point_h)(const struct wire_point *point, void *arg);

/** Read all points of a run, by series and time. @return as
 * store_run_events() */
int store_run_points(struct store *s, int64_t run_id, ingest_point_h *point_h,
		     void *arg);
int store_judged_points(struct store *s, int64_t run_id,
			ingest_point_h *point_h, void *arg);

#endif
