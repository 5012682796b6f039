/**
 * The artifacts of runs: what is known of the files that agents leave. The
 * files themselves are artifact_files.h's.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_ARTIFACT_H
#define OFFHOOK_SERVER_STORE_STORE_ARTIFACT_H

#include "base/str.h"
#include "control/server/store/record.h"
#include "control/server/store/store_appimage.h"
#include "control/server/store/store_lease.h"

/* Files of a run, whatever their size. */
#define ARTIFACTS_PER_RUN 10000

/* What an agent brings. */
struct artifact {
	int64_t agent_id;
	const char *lease_id;
	const char *name; /* wire_artifact_name_valid() */
	int64_t size;
	const char *sha256;      /* hex */
	const char *file;        /* uuid_make(): on the disk */
	int64_t run_limit_bytes; /* all artifacts of the run */
};

/**
 * Look whether an artifact would be kept; only the members up to `size` and
 * the limit are read.
 * @return 0; -ENOENT no such lease, or another agent's; -ESTALE it takes no
 *         more; -EFBIG above the limits of the run; -EIO
 */
int store_artifact_check(struct store *s, const struct artifact *a,
			 const struct lease_times *times,
			 char session_id[static UUID_TEXT_BYTES]);

/**
 * Keep it in the place of one of its role and name.
 * @param old_file  what the one before was on the disk; "": there was none
 * @return 1 replaced; 0 new; or as above
 */
int store_artifact_put(struct store *s, const struct artifact *a,
		       const struct lease_times *times,
		       char old_file[static UUID_TEXT_BYTES]);

/** List those of a run, by role and name. @return 0; -EIO; -ENOMEM */
int store_artifact_list(struct store *s, int64_t run_id,
			const struct page *page, json_t **ret, int64_t *total);

struct artifact_found {
	char file[UUID_TEXT_BYTES];
	char sha256[APPIMAGE_HASH_BYTES];
};

/** Find one. @return 0; -ENOENT; -EIO */
int store_artifact_find(struct store *s, int64_t run_id, const char *role,
			const char *name, struct artifact_found *ret);

/** @return 1 there is a run of this session; 0; -EIO */
int store_artifact_session(struct store *s, const char *session_id);

#endif
