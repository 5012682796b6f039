/**
 * Connections of the SQLite database (operations: db.h).
 * Thread: one owner per connection at a time.
 */
#ifndef OFFHOOK_SERVER_STORE_DB_SQLITE_H
#define OFFHOOK_SERVER_STORE_DB_SQLITE_H

#include "control/server/store/db.h"

/** Set the library's options before the first connection of the process; later
 * calls do nothing. Thread: the one that opens the first connection. */
void db_sqlite_setup(void);

/**
 * Open the file. The writer creates it if it is missing (mode 0600) and sets
 * WAL mode. Only one connection of all processes may be the writer.
 * @param read_only  a reader: it neither writes nor checkpoints
 * @return 0; -ENOMEM; -EIO with the reason in the log
 */
int db_sqlite_open(struct db **ret, const char *path, bool read_only);

/**
 * Open an existing file that no other process has open, without changing how it
 * is stored: it gets no write-ahead log if it has none.
 * @return 0; -ENOMEM; -EIO with the reason in the log
 */
int db_sqlite_open_as_is(struct db **ret, const char *path);

/** Switch the triggers of this connection; they are on when it is opened. */
void db_sqlite_triggers(struct db *db, bool on);

/**
 * Copy what the connection sees into a new file, by SQLite's online backup API
 * in one read transaction. The copy has no write-ahead log.
 * @param stop_h  asked now and then, true: give up; may be NULL
 * @return 0; -ECANCELED; -EIO (db_error()); -errno; then there is no copy
 */
int db_copy(struct db *db, const char *copy, bool (*stop_h)(void *arg),
	    void *arg);

#endif
