/**
 * The files of artifacts, below state_dir: one folder per run, named by its
 * session id, with files of random names. A crash between file and row leaves a
 * file that no row names; it is deleted with its run.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_SERVER_STORE_ARTIFACT_FILES_H
#define OFFHOOK_CONTROL_SERVER_STORE_ARTIFACT_FILES_H

#include "conf/load.h"

#include <stdbool.h>
#include <stddef.h>

struct controller_conf;
struct store;

#define ARTIFACT_DIR "artifacts"

/**
 * Make the folder and delete the folders of deleted runs. Called before requests are
 * served. PostgreSQL: check that controllers on one database have one directory.
 * @param alone  no other controller is running
 * @return 0; -EPERM they have another one; -errno; logged
 */
int artifact_files_begin(const struct controller_conf *conf,
			 struct store *store, bool alone);

/**
 * Path of a file.
 * @param session_id, file  UUIDs
 * @return 0; -ENAMETOOLONG
 */
int artifact_file_path(char path[static CONF_PATH_BYTES],
		       const struct controller_conf *conf,
		       const char *session_id, const char *file);

/** Write a new file and sync it. @return 0; -errno, and no file is left */
int artifact_file_write(const struct controller_conf *conf,
			const char *session_id, const char *file,
			const void *data, size_t len);

/** Delete a file, and the folder if it was the last one. */
void artifact_file_delete(const struct controller_conf *conf,
			  const char *session_id, const char *file);

/** Delete all files of a run. */
void artifact_files_delete(const struct controller_conf *conf,
			   const char *session_id);

#endif
