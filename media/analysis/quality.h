/**
 * Live quality of a received stream for a listener: packets that the de-jitter
 * buffer models discard, bursts and gaps of missing packets, packets out of
 * order, interruptions; and the RTCP XR blocks that report them. It is an
 * observer of rtp_stream, of fixed size.
 *
 * A packet is final when RTP_MAX_MISORDER later numbers were received. One that
 * arrives later is discarded by every model, so it remains bad.
 * Docs: docs/reference/measurement.md
 *
 * Thread: the analysis thread; never blocks, no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_QUALITY_H
#define OFFHOOK_MEDIA_ANALYSIS_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/distribution.h"
#include "media/analysis/jitter_buffer.h"
#include "media/analysis/pattern.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/skew.h"
#include "media/analysis/stream.h"
#include "media/analysis/summary.h"

/** Quality of a received stream. Private. */
struct rtp_quality {
	struct rtp_stream *stream; /* the observed stream */
	struct jb_fixed fixed;
	struct jb_adaptive adaptive;
	bool has_last;
	int64_t last_ext; /* of the unique packet that arrived last */
	uint64_t out_of_order;
	bool has_gap;
	double gap_max_ms;
	/* of the open second */
	bool has_gap_second;
	double gap_second_ms;
	uint64_t out_of_order_before;
	uint64_t discarded_before;
	uint64_t burst_bad_before;
	/* since the last statistics summary */
	struct moments ipdv_ms;
	bool has_report;
	uint16_t report_begin; /* first number of the next summary */
	uint64_t report_lost;  /* lost until its end */
	uint64_t report_duplicates;
	struct skew skew;
	struct loss_pattern fixed_pattern; /* bad: lost, or discarded by the
					    * fixed model */
	struct loss_pattern adaptive_pattern;
	struct skew_point skew_points[SKEW_WINDOWS_LIVE];
};

/** Initialise, and become the observer of a stream.
 * @param stream  without a packet yet; borrowed */
void rtp_quality_init(struct rtp_quality *q, struct rtp_stream *stream);

/** The observer functions; arg is the struct rtp_quality. */
extern const struct rtp_observer rtp_quality_observer;

/** The stream has ended: patterns become final. Call it once, before its last
 * second is closed. */
void rtp_quality_finish(struct rtp_quality *q);

/** Fill in the fields of a closed second that rtp_stream_close_second() does
 * not, and open the next one. */
void rtp_quality_close_second(struct rtp_quality *q, struct stream_second *ret);

/** @return something is not yet in a closed second */
bool rtp_quality_is_open(struct rtp_quality *q);

/** Fill in the totals that rtp_stream_total() does not. Call it after
 * rtp_quality_finish(). */
void rtp_quality_total(struct rtp_quality *q, struct stream_total *ret);

/**
 * Make the VoIP metrics block about this stream: everything since its start,
 * behind the fixed buffer.
 * Source: RFC 3611 section 4.7
 */
void rtp_quality_voip(struct rtp_quality *q, struct rtcp_voip_metrics *ret);

/**
 * Make the statistics summary block: packets since the last one.
 * Source: RFC 3611 section 4.6
 * @return false: nothing new was received
 */
bool rtp_quality_summary(struct rtp_quality *q, struct rtcp_stat_summary *ret);

#endif
