/**
 * One file of a spool: records one after another, each framed with its length
 * and a CRC-32 (IEEE 802.3) over everything after the CRC:
 *   u32 length of the text, u32 crc, u64 seq, u32 kind, text; little endian
 * A record whose frame or checksum is wrong ends the file: a crash tears only
 * the tail.
 * Thread: one owner.
 */
#ifndef OFFHOOK_AGENT_SPOOL_SEGMENT_H
#define OFFHOOK_AGENT_SPOOL_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENT_HEADER_BYTES 20u
/* One upload: the controller takes bodies of 1 MiB. */
#define SEGMENT_TEXT_BYTES (1u << 20)

enum record_kind {
	RECORD_META = 1, /* seq 0: {session_id, role} */
	RECORD_STATS,    /* uploads: seq from 1, without holes */
	RECORD_EVENTS,
	RECORD_SIP,
	RECORD_FINISH, /* seq 0: {outcome, reason} */
};

struct record {
	enum record_kind kind;
	uint64_t seq;
	char *text; /* JSON, terminated; owned by the reader */
	size_t len;
};

/**
 * Append at the end of the file.
 * @param fd   opened for appending
 * @param end  in/out: length of the file; a partial write is cut off
 * @return 0; -EMSGSIZE; -ENOMEM; -errno (file and end unchanged)
 */
int segment_append(int fd, uint64_t *end, const struct record *record);

/**
 * Read the record at an offset.
 * @param ret       text allocated; the caller frees it
 * @param ret_next  offset of the next record
 * @return 1; 0 end of the file; -EBADMSG torn or damaged; -ENOMEM; -errno
 */
int segment_read(int fd, uint64_t at, struct record *ret, uint64_t *ret_next);

/** CRC-32 as in IEEE 802.3 (polynomial 0xEDB88320). */
uint32_t segment_crc(const void *data, size_t len);

#endif
