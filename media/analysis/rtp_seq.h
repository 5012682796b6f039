/**
 * Sequence numbers of one received stream: counters of unique packets,
 * duplicate window and loss runs. Published figures are based on these
 * (rtp_strict is for our own RTCP reports).
 * Source: RFC 3550 appendix A.1, A.3, RFC 4737; docs/reference/measurement.md
 * "Packets"
 * Thread: one at a time; no allocation. Embedded in rtp_stream.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_SEQ_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/loss_runs.h"
#include "media/analysis/record.h"

#define RTP_MAX_DROPOUT  3000 /* RFC 3550 A.1 */
#define RTP_MAX_MISORDER 100  /* RFC 3550 A.1 */
#define RTP_LATE_WINDOW  1000 /* packets; an older loss is final */
#define RTP_WINDOW_BITS  1024 /* power of two > RTP_LATE_WINDOW */

enum rtp_verdict {
	RTP_IN_ORDER,  /* new highest number; there may be a gap before it */
	RTP_REORDERED, /* RFC 4737; received, so not lost */
	RTP_VERY_LATE, /* the same, >= 100 behind: no timing, discarded */
	RTP_DUPLICATE,
	RTP_PENDING, /* a jump that the next packet must confirm */
	RTP_OUTAGE,  /* confirms a jump: same segment, the gap is loss */
	RTP_RESTART, /* confirms a jump: a new segment begins */
};

/** Counters. packets = received + duplicates + stray + pending. */
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
	/* warm: used for every run of packets; one cache line */
	int64_t max;    /* extended number of the newest packet */
	int64_t base;   /* of the segment's first packet */
	int64_t max_ns; /* of the newest packet */
	uint32_t max_ts;
	bool started;
	bool has_pending;
	uint64_t packets;
	uint64_t received;
	uint64_t current;      /* the word of the window that contains max: its
				* copy in the window is out of date */
	struct loss_runs runs; /* final runs; warm: `open` */
	/* cold */
	uint64_t window[RTP_WINDOW_BITS / 64]; /* received numbers */
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t very_late;
	uint64_t stray;
	uint64_t restarts;
	uint64_t outages;
	uint64_t closed_expected; /* of finished segments */
	uint32_t max_reorder_distance;
	struct packet_record pending;
};

/** Initialise, before the first packet. */
void rtp_seq_init(struct rtp_seq *q);

/**
 * Process one packet.
 * @param period_ticks  packet time in RTP timestamp units; 0: unknown
 * @param clock_hz      RTP clock rate; 0: unknown
 * @param ret_pending   on RTP_OUTAGE and RTP_RESTART the pending packet, which
 *                      must be credited first; else untouched
 */
enum rtp_verdict rtp_seq_update(struct rtp_seq *q,
				const struct packet_record *r,
				uint32_t period_ticks, uint32_t clock_hz,
				struct packet_record *ret_pending);

/**
 * rtp_seq_update() for `count` consecutive packets from the number after the
 * newest; all of them are RTP_IN_ORDER. A packet must have been received
 * before.
 * @param rtp_ts, mono_ns  of the last packet
 */
void rtp_seq_run(struct rtp_seq *q, uint32_t count, uint32_t rtp_ts,
		 int64_t mono_ns);

/** Get the counters. */
void rtp_seq_counters(const struct rtp_seq *q, struct rtp_counters *ret);

/** Loss runs so far, including those not final yet. */
void rtp_seq_loss_runs(const struct rtp_seq *q, struct loss_runs *ret);

#endif
