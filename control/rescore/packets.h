/**
 * Reads a capture to rescore it: the streams of each interface of a
 * pcapng file are measured on their own, as `packets.pcapng` of a run has an
 * interface for each role. What passes between two roles would else count twice.
 * Thread: any; one owner.
 */
#ifndef OFFHOOK_CONTROL_RESCORE_PACKETS_H
#define OFFHOOK_CONTROL_RESCORE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/reader.h"

#define PACKETS_INTERFACES_MAX 256 /* further ones are left out */

/** Mean round trip between the place of the capture and a source. */
struct packets_rtt {
	uint32_t ssrc;
	double ms;
};

/** What one interface has. */
struct packets_part {
	char name[READER_NAME_BYTES]; /* "": none */
	struct capture *capture;
	struct packets_rtt *rtt;
	size_t rtt_count;
};

struct packets {
	struct packets_part part[PACKETS_INTERFACES_MAX];
	size_t count; /* parts, some without capture */
	uint64_t untimed;
	uint64_t frames_left_out; /* of further interfaces */
	bool damaged;
	char reason[READER_REASON_BYTES]; /* if damaged */
};

/**
 * Read a capture to its end, or to where it is damaged.
 * @param ret      packets_release() in every case
 * @param fd       borrowed, at the beginning of the capture
 * @param options  of each interface; copied, and what it borrows is borrowed
 * @return 0, also if it is damaged; -ENOMEM
 */
int packets_read(struct packets *ret, int fd,
		 const struct capture_options *options);
void packets_release(struct packets *p);

/** Streams of all parts. */
size_t packets_stream_count(const struct packets *p);

/** RTP packets of streams above options->streams_max. */
uint64_t packets_left_out(const struct packets *p);

/** The mean round trip between the place of the capture and the source of a
 * stream, from RTCP reports.
 * @return false: unknown */
bool packets_rtt_ms(const struct packets_part *part, uint32_t ssrc,
		    double *ret_ms);

#endif
