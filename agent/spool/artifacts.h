/**
 * The artifacts of one lease: files that its engine has made, on disk until the
 * controller has them. They are in a folder of the lease; a file that is being
 * written ends in WIRE_ARTIFACT_PART, one without it is complete and waits for its
 * upload. They survive a crash of the process, and count against the limit of the
 * spools (spool.h), of which they may take half.
 * Thread: one owner.
 */
#ifndef OFFHOOK_AGENT_SPOOL_ARTIFACTS_H
#define OFFHOOK_AGENT_SPOOL_ARTIFACTS_H

#include "agent/spool/spool.h"
#include "control/wire/artifact.h"

#define ARTIFACTS_MAX 10000u /* files that wait, of a lease */

struct artifacts;

/**
 * Open the folder of a lease, or make it; incomplete files are deleted.
 * @param dir       folder of all leases, exists
 * @param lease_id  spool_name_valid()
 * @param space     borrowed for the life of it
 * @return 0; -ENAMETOOLONG; -ENOMEM; -errno
 */
int artifacts_open(struct artifacts **ret, const char *dir,
		   const char *lease_id, struct spool_space *space);

/** Close; the files stay. Accepts NULL. @return NULL */
struct artifacts *artifacts_free(struct artifacts *a);
/** Delete the files and the folder, then close. Accepts NULL. @return NULL */
struct artifacts *artifacts_remove(struct artifacts *a);

/** Path of the folder in which the engine writes; borrowed. */
const char *artifacts_dir(const struct artifacts *a);

/**
 * Take a file that the engine has completed as NAME with WIRE_ARTIFACT_PART: sync
 * and rename it, so that it waits for its upload.
 * @return 0; -EINVAL name; -ENOENT; -EEXIST one of that name waits; -EDQUOT no room, or ARTIFACTS_MAX wait;
 *         -errno; on failure the file is deleted
 */
int artifacts_take(struct artifacts *a, const char *name);

/** Find a file that waits. @return 1; 0 there is none; -errno */
int artifacts_next(const struct artifacts *a,
		   char name[static WIRE_ARTIFACT_NAME_BYTES]);

/** Delete a file that was uploaded or refused. */
void artifacts_drop(struct artifacts *a, const char *name);

/** Delete the folders below dir for whose lease wanted() returns false. */
void artifacts_sweep(const char *dir,
		     bool (*wanted)(const char *lease_id, void *arg),
		     void *arg);

#endif
