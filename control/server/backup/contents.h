/**
 * What a backup holds: backup.json about the rest, the files of artifacts and
 * uploads, the database, perhaps the master key.
 * Thread: the owner of the object.
 */
#ifndef OFFHOOK_SERVER_BACKUP_CONTENTS_H
#define OFFHOOK_SERVER_BACKUP_CONTENTS_H

#include "base/clock.h"
#include "control/server/backup/file_list.h"
#include "control/server/store/store_secret.h"

#define CONTENTS_ABOUT    "backup.json"
#define CONTENTS_DATABASE "offhook.db"
#define CONTENTS_KEY      "master.key"

/* Incremented when a restore of an earlier program could not read it. */
#define CONTENTS_FORMAT 1

struct contents {
	struct file_list files; /* artifacts and uploads, sorted */
	char created_at[CLOCK_TEXT_BYTES];
	char key_check[SECRETS_CHECK_BYTES]; /* "": the key was not there */
	int schema;
	bool has_database;
	bool has_key;
};

/** Open where a member is to be written, after its name was checked.
 * @param ret_fd  -1: nowhere; closed by the caller @return 0; -errno, logged */
typedef int contents_open_h(const char *name, int *ret_fd, void *arg);

/**
 * Read a whole backup.
 * @param file    path, also for the log
 * @param ret     released by contents_release(), also on failure
 * @return 0; -EBADMSG damaged, or no backup; -ECANCELED; negative; logged
 */
int contents_read(const char *file, contents_open_h *open_h, void *arg,
		  struct contents *ret);
void contents_release(struct contents *c);

/**
 * Compare the files that rows of the database name with those there are.
 * @param database  path of a database that no other process has open
 * @param finding_h called for each that is missing or different; as that of
 *                  database_check()
 */
int contents_compare(const struct contents *c, const char *database,
		     int (*finding_h)(const char *text, void *arg), void *arg);

#endif
