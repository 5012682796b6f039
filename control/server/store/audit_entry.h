/**
 * The entry of the audit log that a transaction writes with its change.
 * Thread: the one that has the writing connection.
 */
#ifndef OFFHOOK_SERVER_STORE_AUDIT_ENTRY_H
#define OFFHOOK_SERVER_STORE_AUDIT_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

struct db;

/* Entries kept; the oldest are deleted. */
#define AUDIT_MAX 100000

/* A request that may change something, or what is done without one: by an option
 * of the controller, by a schedule. All texts are borrowed. */
struct audit {
	const char *method;
	const char *path;       /* or the option */
	const char *address;    /* of the client; "": there is none */
	const char *request_id; /* "": there is none */
	int64_t key_id; /* API key; negative: a user of the pages; 0: nobody */
	const char *actor_kind; /* without a request: command, schedule,
				 * capacity_search, retention */
	const char *actor;      /* its name */
	int64_t actor_id;       /* of the schedule or search, or 0 */
	/* the store's own */
	int64_t entry; /* id of its entry; 0: it has changed nothing yet */
	bool open;     /* the entry is not committed */
};

/** Write the entry, at the begin of its first transaction.
 * @param a  NULL: nothing is noted @return 0; -EIO */
int audit_begin(struct audit *a, struct db *db);

/** The transaction has ended. */
void audit_end(struct audit *a, bool committed);

/** Name the record that the request is about, before it is deleted.
 * @param table  its name; a constant @return 0; -EIO */
int audit_record(const struct audit *a, struct db *db, const char *table,
		 int64_t id);

/** Say in the entry what was done, where it is about many records.
 * @param table  as above @return 0; -EIO */
int audit_text(const struct audit *a, struct db *db, const char *table,
	       const char *text);

#endif
