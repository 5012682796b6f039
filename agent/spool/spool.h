/**
 * The spool of one lease: what its engine reported, on disk until the
 * controller has accepted the finish. It is a directory of segments; a segment
 * is deleted when all in it was uploaded, but for the last one.
 * It survives a crash of the process at any point: at the next start
 * spool_open() finds everything that was appended, and cuts a torn tail.
 * A struct spool_space bounds all spools together: above the limit statistics
 * are refused; events and SIP messages are still accepted, up to
 * SPOOL_FULL_TIMES the limit, where the job has to end; the outcome always is.
 * Thread: one owner.
 */
#ifndef OFFHOOK_AGENT_SPOOL_SPOOL_H
#define OFFHOOK_AGENT_SPOOL_SPOOL_H

#include "agent/spool/segment.h"

#include <stdbool.h>

#define SPOOL_NAME_BYTES    65         /* a lease id with its terminator */
#define SPOOL_SEGMENT_BYTES (1u << 20) /* a new segment is begun above it */
#define SPOOL_FULL_TIMES    4u         /* of the limit: nothing more is taken */

/* Shared by all spools of a process. */
struct spool_space {
	uint64_t limit; /* bytes; constant */
	uint64_t used;  /* bytes of all segments */
};

struct spool;

/** Whether it is 1 to 64 letters, digits and dashes, and so safe as the name of a
 * directory. */
bool spool_name_valid(const char *lease_id);

/**
 * Begin the spool of a new lease; an old one of the same name is removed.
 * @param dir    directory of all spools, exists
 * @param space  borrowed for the life of the spool
 * @param meta   JSON text kept with it
 * @return 0; -EINVAL name; -ENOMEM; -errno
 */
int spool_create(struct spool **ret, const char *dir, const char *lease_id,
		 struct spool_space *space, const char *meta);

/**
 * Open the spool that an earlier process has left.
 * @return 0; -EINVAL name; -ENODATA nothing usable in it; -ENOMEM; -errno
 */
int spool_open(struct spool **ret, const char *dir, const char *lease_id,
	       struct spool_space *space);

/** Close; the files stay. @return NULL */
struct spool *spool_free(struct spool *s);
/** Remove the files, then close. @return NULL */
struct spool *spool_remove(struct spool *s);

/**
 * Append an upload under the next sequence number.
 * @param kind  RECORD_STATS, RECORD_EVENTS or RECORD_SIP
 * @param text  len bytes of JSON; copied, need not be terminated
 * @return 0; -EDQUOT statistics above the limit; -ENOBUFS the spools are full;
 *         -EMSGSIZE; -ENOMEM; -errno
 *         (nothing was appended)
 */
int spool_append(struct spool *s, enum record_kind kind, const char *text,
		 size_t len);

/** Append the outcome and sync. Once a spool. @return as spool_append() */
int spool_append_finish(struct spool *s, const char *text);

/** Make all that was appended durable. @return 0; -errno */
int spool_sync(struct spool *s);

/** Highest sequence number in use; 0: none. */
uint64_t spool_last_seq(const struct spool *s);
/** Highest number that is synced, and may be uploaded. */
uint64_t spool_synced_seq(const struct spool *s);
/** Lowest number that was not released. */
uint64_t spool_first_seq(const struct spool *s);

/** The meta text of spool_create(); borrowed, never NULL. */
const char *spool_meta(const struct spool *s);
/** The text of spool_append_finish(); borrowed; NULL: no outcome yet. */
const char *spool_finish(const struct spool *s);

/**
 * Read an upload.
 * @param ret  text allocated; the caller frees it
 * @return 0; -ENOENT no such number, or it was released; -EBADMSG; -ENOMEM; -errno
 */
int spool_read(struct spool *s, uint64_t seq, struct record *ret);

/** The controller has all numbers up to seq: delete the segments that hold no
 * other. */
void spool_release(struct spool *s, uint64_t seq);

#endif
