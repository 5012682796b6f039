/**
 * The artifacts of runs: rows about the files that agents upload. For the files
 * themselves see artifact_files.h.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_ARTIFACT_H
#define OFFHOOK_SERVER_STORE_STORE_ARTIFACT_H

#include "base/str.h"
#include "control/server/store/record.h"
#include "control/server/store/store_appimage.h"
#include "control/server/store/store_lease.h"

/* Ceiling of files of a run, whatever their size. */
#define ARTIFACTS_PER_RUN 10000

/* An artifact uploaded by an agent. */
struct artifact {
	int64_t agent_id;
	const char *lease_id;
	const char *name; /* wire_artifact_name_valid() */
	int64_t size;
	const char *sha256;      /* hex */
	const char *file;        /* name on the disk: uuid_make() */
	int64_t run_limit_bytes; /* of all its artifacts */
};

/**
 * Check whether an artifact would be kept. Only the members up to `size` and
 * the limit are read.
 * @return 0; -ENOENT no such lease, or another agent's; -ESTALE the lease takes
 *         no more uploads; -EFBIG above the limits of the run; -EIO
 */
int store_artifact_check(struct store *s, const struct artifact *a,
			 const struct lease_times *times,
			 char session_id[static UUID_TEXT_BYTES]);

/**
 * Store an artifact, replacing one of the same role and name.
 * @param old_file  receives the replaced one's name on the disk; "": none
 * @return 1 replaced; 0 new; or as store_artifact_check()
 */
int store_artifact_put(struct store *s, const struct artifact *a,
		       const struct lease_times *times,
		       char old_file[static UUID_TEXT_BYTES]);

/** Note by what name the directory of the files is known. @return 0; -EIO */
int store_artifact_name_place(struct store *s, const char *uuid);
/** Read it. @return 0; -ENOENT; -EIO */
int store_artifact_place(struct store *s, char uuid[static UUID_TEXT_BYTES]);

/** List the artifacts of a run, by role and name. @return 0; -EIO; -ENOMEM */
int store_artifact_list(struct store *s, int64_t run_id,
			const struct page *page, json_t **ret, int64_t *total);

struct artifact_found {
	char file[UUID_TEXT_BYTES];
	char sha256[APPIMAGE_HASH_BYTES];
};

/** Find one. @return 0; -ENOENT; -EIO */
int store_artifact_find(struct store *s, int64_t run_id, const char *role,
			const char *name, struct artifact_found *ret);

typedef int(artifact_file_h)(const char *role, const char *file, void *arg);

/** Go through the artifacts of a run that have this name, by role.
 * @param handler  gets the name on the disk; a negative result ends it
 * @return 0; -EIO; the handler's */
int store_artifact_each(struct store *s, int64_t run_id, const char *name,
			artifact_file_h *handler, void *arg);

/** Check whether a run has this session id. @return 1; 0 none; -EIO */
int store_artifact_session(struct store *s, const char *session_id);

#endif
