/**
 * The spool of one lease: what its engine reported, on disk until the
 * controller has accepted the finish. A directory of segments; what was
 * uploaded is given back segment by segment, the last one stays.
 * Survives the death of the process at any point: at the next start
 * spool_open() finds everything that was appended, a torn tail is cut.
 * Bounded over all leases by a struct spool_space: above the limit
 * statistics are refused; events and SIP messages are not dropped, but the job
 * has to end when they reach SPOOL_FULL_TIMES the limit. Results never are.
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

/** True for 1 to 64 letters, digits and dashes: safe as a directory's name. */
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
 * Open the spool that a process before us has left.
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

/** Keep the outcome; once. Synced before it returns. @return as above */
int spool_append_finish(struct spool *s, const char *text);

/** Make all that was appended durable. @return 0; -errno */
int spool_sync(struct spool *s);

/** Highest number given; 0: none. */
uint64_t spool_last_seq(const struct spool *s);
/** Highest number that is durable: what may be uploaded. */
uint64_t spool_synced_seq(const struct spool *s);
/** Lowest number that is still there. */
uint64_t spool_first_seq(const struct spool *s);

/** What was kept with spool_create(); never NULL. */
const char *spool_meta(const struct spool *s);
/** What was kept with spool_append_finish(); NULL: nothing. */
const char *spool_finish(const struct spool *s);

/**
 * Read an upload.
 * @param ret  text allocated; the caller frees it
 * @return 0; -ENOENT no such number (any more); -EBADMSG; -ENOMEM; -errno
 */
int spool_read(struct spool *s, uint64_t seq, struct record *ret);

/** All numbers up to seq are accepted: give whole segments back. */
void spool_release(struct spool *s, uint64_t seq);

#endif
