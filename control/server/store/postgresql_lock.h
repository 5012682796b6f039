/**
 * Advisory locks of the writers on a PostgreSQL database. A writer has the database
 * alone or shares it, as long as it is connected. Transactions of writers that share
 * it take one more lock, so that they are serial.
 * Thread: the owner of the connection.
 */
#ifndef OFFHOOK_SERVER_STORE_POSTGRESQL_LOCK_H
#define OFFHOOK_SERVER_STORE_POSTGRESQL_LOCK_H

#include <stdbool.h>

struct db;

#define POSTGRESQL_ANSWER_BYTES 128

/* Keys of the locks: "offhook" in ASCII, and the next number. */
#define POSTGRESQL_LOCK_KEY  "31356312439713643"
#define POSTGRESQL_WRITE_KEY "31356312439713644"

/* The statement that a shared transaction begins with. */
#define POSTGRESQL_LOCK_WRITING \
	"SELECT pg_advisory_xact_lock(" POSTGRESQL_WRITE_KEY ")"

/** What a writer knows of its lock; zero before its first connection. */
struct postgresql_lock {
	bool alone;
	/* the server's process and its start, to end it if the server does not know
	 * yet that the connection is gone */
	char session[2][POSTGRESQL_ANSWER_BYTES];
};

/** Run a statement that answers one row. @param params  two texts, or NULL
 * @param ret  two texts @return 0; db_query()'s codes */
typedef int(postgresql_ask_h)(struct db *db, const char *sql,
			      const char *const params[2],
			      char (*ret)[POSTGRESQL_ANSWER_BYTES]);

/**
 * Take the lock of a new connection: the first time alone if nobody else has it,
 * later as it was. A former session of this writer is ended.
 * @return 0; -EBUSY it was not free within lock_timeout; the codes of ask_h
 */
int postgresql_lock_enter(struct postgresql_lock *lock, postgresql_ask_h *ask_h,
			  struct db *db);

/** Change between alone and shared; it is not as wanted yet.
 * @return as postgresql_lock_enter() */
int postgresql_lock_change(struct postgresql_lock *lock, bool alone,
			   postgresql_ask_h *ask_h, struct db *db);

/** What a refused lock means, and what to do. */
const char *postgresql_lock_refused(bool alone);

#endif
