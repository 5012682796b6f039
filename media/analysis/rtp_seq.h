/**
 * Sequence numbers of one received stream: unique-packet counters, duplicate
 * window and loss runs. Everything published is of these (rtp_strict is for
 * our own RTCP reports).
 * Source: RFC 3550 A.1, A.3, RFC 4737; docs/reference/measurement.md "Packets"
 * Thread: the owner's; no allocation. Embedded by rtp_stream.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_SEQ_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/loss_runs.h"
#include "media/analysis/record.h"

#define RTP_MAX_DROPOUT  3000 /* RFC 3550 A.1 */
#define RTP_MAX_MISORDER 100  /* RFC 3550 A.1 */
#define RTP_LATE_WINDOW  1000 /* packets; a loss older than that is final */
#define RTP_WINDOW_BITS  1024 /* power of two > RTP_LATE_WINDOW */

enum rtp_verdict {
	RTP_IN_ORDER,  /* new highest number; a gap before it is possible */
	RTP_REORDERED, /* RFC 4737: received for loss */
	RTP_VERY_LATE, /* the same, >= 100 behind: no timing, discarded */
	RTP_DUPLICATE,
	RTP_PENDING, /* a jump that needs a second packet to count */
	RTP_OUTAGE,  /* confirms a jump: same segment, the gap is loss */
	RTP_RESTART, /* confirms a jump: a new segment begins */
};

/** Primary counters. packets = received + duplicates + stray + pending. */
struct rtp_counters {
	uint64_t packets;
	uint64_t received; /* unique */
	uint64_t duplicates;
	uint64_t reordered; /* of received */
	uint64_t very_late; /* of reordered */
	uint64_t stray;
	uint64_t restarts;
	uint64_t outages;
	uint64_t expected;
	uint64_t lost; /* expected - received, always >= 0 */
	uint32_t max_reorder_distance;
	uint32_t pending; /* 0 or 1 */
};

struct rtp_seq {
	/* warm: every run of packets; one cache line */
	int64_t max;    /* extended number of the newest packet */
	int64_t base;   /* of the segment's first */
	int64_t max_ns; /* of the newest packet */
	uint32_t max_ts;
	bool started;
	bool has_pending;
	uint64_t packets;
	uint64_t received;
	uint64_t current;      /* the word of the window that holds max: that
				* in the window is out of date */
	struct loss_runs runs; /* what is final; warm: open */
	/* cold */
	uint64_t window[RTP_WINDOW_BITS / 64]; /* received, by number */
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t very_late;
	uint64_t stray;
	uint64_t restarts;
	uint64_t outages;
	uint64_t closed_expected; /* of closed segments */
	uint32_t max_reorder_distance;
	struct packet_record pending;
};

void rtp_seq_init(struct rtp_seq *q);

/**
 * Take one packet.
 * @param period_ticks  packet time in RTP ticks; 0: unknown
 * @param clock_hz      RTP clock; 0: unknown
 * @param ret_pending   on RTP_OUTAGE and RTP_RESTART the packet that was
 *                      pending: it is credited first; else untouched
 */
enum rtp_verdict rtp_seq_update(struct rtp_seq *q,
				const struct packet_record *r,
				uint32_t period_ticks, uint32_t clock_hz,
				struct packet_record *ret_pending);

/**
 * rtp_seq_update() of `count` packets in sequence from the number after the
 * newest; all of them are RTP_IN_ORDER. Something must have been received.
 * @param rtp_ts, mono_ns  of the last of them
 */
void rtp_seq_run(struct rtp_seq *q, uint32_t count, uint32_t rtp_ts,
		 int64_t mono_ns);

void rtp_seq_counters(const struct rtp_seq *q, struct rtp_counters *ret);

/** Loss runs up to now, those not yet final included. */
void rtp_seq_loss_runs(const struct rtp_seq *q, struct loss_runs *ret);

#endif
