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

/* A request that may change something. All texts are borrowed. */
struct audit {
	const char *method;
	const char *path;
	const char *address; /* of the client */
	const char *request_id;
	int64_t key_id; /* API key; negative: a user of the pages; 0: nobody */
	/* the store's own */
	int64_t entry; /* id of its entry; 0: it has changed nothing yet */
	bool open;     /* the entry is not committed */
};

/** Write the entry of a request, at the begin of its first transaction.
 * @param a  NULL: of no request @return 0; -EIO */
int audit_begin(struct audit *a, struct db *db);

/** The transaction has ended. */
void audit_end(struct audit *a, bool committed);

/** Name the record that the request is about, before it is deleted.
 * @param table  its name; a constant @return 0; -EIO */
int audit_record(const struct audit *a, struct db *db, const char *table,
		 int64_t id);

#endif
