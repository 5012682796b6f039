/**
 * The artifacts of one lease: files that its engine has made, on disk until
 * the controller has them. A folder of the lease's own; a file that is being
 * written ends in WIRE_ARTIFACT_PART, one without it is complete and waits to
 * be uploaded. They survive the death of the process, and count against the
 * limit of the spools (spool.h), of which they take half at most.
 * Thread: one owner.
 */
#ifndef OFFHOOK_AGENT_SPOOL_ARTIFACTS_H
#define OFFHOOK_AGENT_SPOOL_ARTIFACTS_H

#include "agent/spool/spool.h"
#include "control/wire/artifact.h"

#define ARTIFACTS_MAX 10000u /* files that wait, of a lease */

struct artifacts;

/**
 * Take up the folder of a lease, or make it; what is not complete is deleted.
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

/** The folder: where the engine writes. */
const char *artifacts_dir(const struct artifacts *a);

/**
 * The engine has written NAME and WIRE_ARTIFACT_PART to the end: sync it, and
 * let it wait for its upload.
 * @return 0; -EINVAL name; -ENOENT; -EEXIST one of the name waits; -EDQUOT no room, or too many;
 *         -errno; on failure the file is deleted
 */
int artifacts_take(struct artifacts *a, const char *name);

/** Find a file that waits. @return 1; 0 there is none; -errno */
int artifacts_next(const struct artifacts *a,
		   char name[static WIRE_ARTIFACT_NAME_BYTES]);

/** One that waited is delivered or given up: delete it. */
void artifacts_drop(struct artifacts *a, const char *name);

/** Delete the folders below dir whose leases are not wanted. */
void artifacts_sweep(const char *dir,
		     bool (*wanted)(const char *lease_id, void *arg),
		     void *arg);

#endif
