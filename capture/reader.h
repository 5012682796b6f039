/**
 * Frames of a capture file, one after another: classic pcap (either byte
 * order, microseconds or nanoseconds, also the format of Kuznetzov) and
 * pcapng (sections, several interfaces, their resolutions and offsets).
 * Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng
 * Thread: one owner. Memory does not grow with the file.
 */
#ifndef OFFHOOK_CAPTURE_READER_H
#define OFFHOOK_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/source.h"

#define READER_FRAME_BYTES_MAX 262144 /* longer: the file is damaged */
#define READER_INTERFACES_MAX  4096   /* of one pcapng section */
#define READER_REASON_BYTES    160
#define READER_TIME_MAX_NS     (INT64_MAX / 2)

struct frame {
	int64_t ns;          /* Unix time, 0..READER_TIME_MAX_NS */
	bool timed;          /* false: it carries no time, ns is 0 */
	uint32_t link;       /* LINKTYPE_ number */
	const uint8_t *data; /* valid until the next frame */
	size_t captured;
	size_t bytes; /* on the wire */
};

/** An interface of a pcapng section. */
struct reader_interface {
	uint32_t link;
	uint32_t snap_bytes; /* 0: no limit */
	uint8_t resolution;  /* if_tsresol: 10^-n, with the high bit 2^-n */
	int64_t offset_s;
};

struct reader {
	struct source *source;
	const char *format; /* "pcap", "pcapng" */
	bool ng;
	bool swapped; /* byte order other than ours */
	/* pcap */
	uint32_t link;
	uint32_t fraction_ns; /* 1 or 1000 */
	size_t header_bytes;  /* of a record */
	/* pcapng */
	struct reader_interface *interface;
	size_t interfaces;
	/* what is odd about the file */
	uint64_t untimed;   /* frames that carry no time (simple packet) */
	uint64_t bad_times; /* outside of what can be, set to the nearest */
	uint64_t dropped;   /* frames of an interface nobody described */
	char reason[READER_REASON_BYTES]; /* why it ended, if -EBADMSG */
};

/**
 * Look at the first bytes.
 * @param source  borrowed until reader_close()
 * @return 0; -EBADMSG no capture file (reason says what it seems to be)
 */
int reader_open(struct reader *r, struct source *source);

/**
 * @return 1 and *ret written; 0 the end; -EBADMSG the file is damaged or was
 *         cut here (reason); another negative errno: reading failed (reason)
 */
int reader_next(struct reader *r, struct frame *ret);

void reader_close(struct reader *r);

/* Private, between the files of the reader. */
int reader_pcap_open(struct reader *r, uint32_t magic);
int reader_pcap_next(struct reader *r, struct frame *ret);
int reader_pcapng_open(struct reader *r);
int reader_pcapng_next(struct reader *r, struct frame *ret);
/** Say where and why; @return -EBADMSG, or the errno of a failed read */
int reader_fail(struct reader *r, const char *what);

static inline uint16_t reader_u16(const struct reader *r, const uint8_t *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap16(v) : v;
}

static inline uint32_t reader_u32(const struct reader *r, const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap32(v) : v;
}

#endif
