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
	bool timed;          /* false: the frame has no time, ns is 0 */
	uint32_t link;       /* LINKTYPE_ number */
	uint32_t interface;  /* number in its pcapng section; else 0 */
	const uint8_t *data; /* valid until the next frame */
	size_t captured;
	size_t bytes; /* on the wire */
};

#define READER_NAME_BYTES 64

/** An interface of a pcapng section. */
struct reader_interface {
	char name[READER_NAME_BYTES]; /* if_name; "": none, or too long */
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
	/* flaws of the file */
	uint64_t untimed;   /* frames that carry no time (simple packet) */
	uint64_t bad_times; /* out of range, replaced by the nearest limit */
	uint64_t dropped;   /* frames of an interface without a description */
	char reason[READER_REASON_BYTES]; /* of the last failure */
};

/**
 * Read the header of the file.
 * @param source  borrowed until reader_close()
 * @return 0; -EBADMSG not a capture file (reason says what it seems to be)
 */
int reader_open(struct reader *r, struct source *source);

/**
 * Read the next frame.
 * @param ret  its data is valid until the next call
 * @return 1 and *ret written; 0 the end; -EBADMSG the file is damaged or cut
 *         here (reason); another negative errno: reading failed (reason)
 */
int reader_next(struct reader *r, struct frame *ret);

/** Name of the interface of the frame just read (if_name of pcapng).
 * @return valid until the next frame; "": none */
const char *reader_interface_name(const struct reader *r,
				  const struct frame *f);

/** Release what reader_open() allocated. The source stays open. */
void reader_close(struct reader *r);

#endif
