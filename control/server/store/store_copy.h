/**
 * A database file as a whole: its lock, a copy of it, what is in a copy. Used
 * by backup, restore and check.
 * Thread: any; each call has connections of its own.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_COPY_H
#define OFFHOOK_SERVER_STORE_STORE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Lock out other processes, as database_open() does. The lock ends when the
 * descriptor is closed. Nothing is logged.
 * @return 0; -EBUSY another process has the database; -errno
 */
int database_lock(int *ret_fd, const char *path);

/** @return true: give up */
typedef bool database_stop_h(void *arg);

/**
 * Copy a database by SQLite's online backup API. The copy is what was committed
 * when the call began; changes meanwhile neither wait nor appear in it. The copy
 * is one file of mode 0600, without a write-ahead log, and may not be on the disk
 * yet.
 * @param live    this process has the database open, so the copy is read through
 *                a reading connection; false: the caller holds its lock
 * @param copy    must not exist
 * @param stop_h  asked now and then; NULL: never
 * @return 0; -ECANCELED stopped; -EIO, -errno, logged; then there is no copy
 */
int database_copy(const char *path, bool live, const char *copy,
		  database_stop_h *stop_h, void *arg);

/* ---- a database that no other process has open ---- */

/* Hex digits of the hash over the schema's steps, and a terminator. */
#define DATABASE_PRINT_BYTES 17

struct database_schema {
	int number; /* 0: unknown */
	char print[DATABASE_PRINT_BYTES];
	/* what this program says to it: NULL: it can use the file */
	const char *refused;
};

/** Read which schema a file has. The file is not changed.
 * @return 0; -EIO not one of ours; -EBUSY another process locks it; both logged */
int database_schema(const char *path, struct database_schema *ret);

/** One thing that is wrong, as a line without its end. @return 0; else stop */
typedef int database_finding_h(const char *text, void *arg);

/**
 * Check pages, indexes and references of a file.
 * @return 0, also with findings; -EIO it cannot be read, logged; the handler's
 *         value
 */
int database_check(const char *path, database_finding_h *finding_h, void *arg);

/** A file that a row names. @param name  below state_dir @return 0; else stop */
typedef int database_file_h(const char *name, int64_t size, const char *sha256,
			    void *arg);

/** Name the files of all rows: artifacts and uploads. @return 0; -EIO, logged;
 * the handler's value */
int database_files(const char *path, database_file_h *file_h, void *arg);

#endif
