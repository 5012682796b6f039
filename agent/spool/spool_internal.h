/**
 * Inside a spool: shared by spool_open.c (making, finding, removing) and
 * spool.c (segments, writing, reading).
 */
#ifndef OFFHOOK_AGENT_SPOOL_SPOOL_INTERNAL_H
#define OFFHOOK_AGENT_SPOOL_SPOOL_INTERNAL_H

#include "agent/spool/spool.h"

#include <limits.h>

/* Segments are named by their number, so that they sort: 00000001.seg */
#define SEGMENT_NAME_BYTES 16
#define SEGMENTS_MAX       99999999u

struct segment {
	unsigned number;
	uint64_t first_seq; /* 0: no upload in it yet */
	uint64_t last_seq;
	uint64_t bytes;
	struct segment *next;
};

struct spool {
	char path[PATH_MAX];
	int dir_fd;
	struct spool_space *space;
	struct segment *first;
	struct segment *last; /* written to */
	int write_fd;
	int read_fd; /* of the segment `reading`, or -1 */
	const struct segment *reading;
	uint64_t read_at; /* where the record `read_seq` begins */
	uint64_t read_seq;
	uint64_t last_seq;
	uint64_t synced_seq;
	char *meta;
	char *finish;
};

/** File name of a segment. */
void spool_segment_name(char name[static SEGMENT_NAME_BYTES], unsigned number);

/** @param flags  of open(). @return descriptor; -errno */
int spool_segment_open(const struct spool *s, unsigned number, int flags);

/** Put a segment behind the last one. @return NULL out of memory */
struct segment *spool_segment_add(struct spool *s, unsigned number);

/** Begin the file of the next segment, which takes what is written from here
 * on, the meta first. @return 0; -EFBIG too many; -ENOMEM; -errno */
int spool_segment_begin(struct spool *s);

#endif
