/**
 * A consistent copy of the database at one point in time, in the file DATABASE.snapshot.
 * A running controller makes it for the commands backup and check; without one
 * they lock the database and make it themselves.
 *
 * The running controller is asked over the Unix socket SNAPSHOT_SOCKET in
 * state_dir, by its own user or root:
 *   command      snapshot LF
 *   controller   ok LF                      the copy is there
 *                error REASON LF            and the connection is closed
 * The copy is deleted when the command closes the connection.
 */
#ifndef OFFHOOK_SERVER_BACKUP_SNAPSHOT_H
#define OFFHOOK_SERVER_BACKUP_SNAPSHOT_H

#include "conf/load.h"

#include <stdbool.h>

struct controller_conf;

#define SNAPSHOT_SOCKET "control.sock"

/* ---- the command's side; thread: main, with SIGINT and SIGTERM blocked ---- */

struct snapshot {
	char path[CONF_PATH_BYTES];
	bool live; /* the controller is running: files may come and go */
	int fd;    /* the connection, or the lock */
};

/** Make a copy. @return 0; -ECANCELED; negative, logged */
int snapshot_take(struct snapshot *ret, const struct controller_conf *conf);

/** Refuse a command if the database is not an SQLite file. @param what  its name
 * @return 0; -ENOTSUP, logged with what to use instead */
int snapshot_supported(const struct controller_conf *conf, const char *what);

/** Delete the copy, and give the lock back. */
void snapshot_release(struct snapshot *s);

/** Whether the user wants the command to end (SIGINT, SIGTERM); an
 * archive_stop_h. @param arg  not used */
bool snapshot_interrupted(void *arg);

/* ---- the controller's side ---- */

struct snapshot_service;

/** Answer commands, in a thread of its own. There is none (*ret is NULL) if the
 * database is not an SQLite file. @param conf  borrowed
 * @return 0; -ENOMEM; -errno, logged */
int snapshot_service_start(struct snapshot_service **ret,
			   const struct controller_conf *conf);

/** End; a copy in progress is given up. Accepts NULL. @return NULL */
struct snapshot_service *snapshot_service_stop(struct snapshot_service *s);

/* ---- both ---- */

/** Paths of the database and of the copy. @return 0; -ENAMETOOLONG */
int snapshot_paths(const struct controller_conf *conf,
		   char database[static CONF_PATH_BYTES],
		   char copy[static CONF_PATH_BYTES]);

struct sockaddr_un;
/** Address of the socket, by an open descriptor of state_dir, as the path may be
 * longer than an address. @return 0; -errno */
int snapshot_address(struct sockaddr_un *ret,
		     const struct controller_conf *conf, int *ret_dir_fd);

#endif
