/**
 * Capacity searches: their rows, which are due, and the end of each trial. Every change is one
 * transaction with a compare-and-set, so that several controllers drive the same searches. Times are
 * ms since 1970.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_CAPACITY_H
#define OFFHOOK_SERVER_STORE_STORE_CAPACITY_H

#include "base/str.h"

#include <jansson.h>
#include <stdint.h>

struct db;
struct store;

struct capacity_new {
	const char *uuid;
	json_t *test;   /* of store_test_load(), overrides applied; borrowed */
	json_t *params; /* control/capacity/stored_search.h; borrowed */
	int64_t key_id; /* as of a run */
	int64_t created_at; /* its first trial is due then */
};

/** Insert a search. @return 0; -EBUSY the Idempotency-Key has lapsed; -EIO; -ENOMEM */
int store_capacity_create(struct store *s, const struct capacity_new *search,
			  int64_t *ret_id);

/** Find a search. @return 0; -ENOENT; -EIO */
int store_capacity_find(struct store *s, const char *uuid, int64_t *ret_id);

/** @return 0 there is a search with this id; -ENOENT; -EIO */
int store_capacity_known(struct store *s, int64_t id);

/** Read its trials in their order: new array of {load, outcome, condition, sentence, session_id,
 * started_at}. @return 0; -EIO; -ENOMEM */
int store_capacity_trials(struct store *s, int64_t id, json_t **ret);

/* A search in progress that can be moved on. */
struct capacity_search {
	int64_t id;
	char uuid[UUID_TEXT_BYTES];
	char test_name[256];
	int64_t test_id; /* 0: of no stored test */
	int64_t key_id;
	bool stop_requested;
	json_t *params;
	json_t *trials;
	json_t *test; /* of one that is due; NULL: it was encrypted with another key file */
	int64_t due_at; /* of the next trial; 0: one is in progress */
	char session_id[UUID_TEXT_BYTES]; /* of the trial that has ended */
};

void capacity_search_release(struct capacity_search *search);

/** Find a search whose next trial is due. @return 1; 0 none; -EIO; -ENOMEM */
int store_capacity_due(struct store *s, int64_t now,
		       struct capacity_search *ret);

/** Find a search whose trial in progress has ended: the trial's run is over, or was deleted.
 * @return as store_capacity_due() */
int store_capacity_ended(struct store *s, struct capacity_search *ret);

/* What becomes of a search. */
struct capacity_move {
	/* of the trial that ended; NULL: none did */
	const char *outcome; /* held failed saturated void */
	const char *condition;
	const char *sentence;
	/* of the search */
	const char *status;      /* "running", or how it ended */
	const char *description; /* why it ended before its time; "" */
	const char *waiting_for; /* what the next trial waits for; NULL */
	json_t *result;          /* so far; borrowed; NULL: as it was */
	int64_t next_at;         /* of the next trial, if it goes on */
};

/**
 * Move a search on.
 * @return 0; -EALREADY another controller did, or it was stopped meanwhile; -EIO; -ENOMEM
 */
int store_capacity_move(struct store *s, const struct capacity_search *search,
			const struct capacity_move *move, int64_t now);

/* The turn of a trial, taken by the transaction that inserts its run. */
struct capacity_turn {
	int64_t search_id;
	int64_t due_at;
	int64_t position; /* of the trial, from 0 */
	double load;
};

/** @return 0; -EALREADY; -EIO */
int capacity_take(struct db *db, const struct capacity_turn *turn,
		  const char *session_id, int64_t now);

/**
 * Stop a search, and the run of its trial.
 * @return 0; -ENOENT; -EALREADY it is stopping or over; -EIO
 */
int store_capacity_stop(struct store *s, int64_t id, int64_t now);

/**
 * Delete searches that ended before a time and of whose runs none is left.
 * @return number of them, 64 at most; -EIO
 */
int store_capacity_expire(struct store *s, int64_t before);

#endif
