/**
 * What a listener would have had of a received stream, live: packets that the
 * de-jitter buffer models discard, bursts and gaps of what they miss, packets
 * out of order, interruptions; and the RTCP XR blocks that say so. An observer
 * of rtp_stream, of fixed size.
 *
 * A packet's fate is final once RTP_MAX_MISORDER later numbers were seen: one
 * that comes later than that is a discard for every model, so bad it stays.
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

/** A received stream behind the buffer models. Private. */
struct rtp_quality {
	struct rtp_stream *stream; /* the observed one */
	struct jb_fixed fixed;
	struct jb_adaptive adaptive;
	bool has_last;
	int64_t last_ext; /* of the unique packet that came last */
	uint64_t out_of_order;
	bool has_gap;
	double gap_max_ms;
	/* the open second */
	bool has_gap_second;
	double gap_second_ms;
	uint64_t out_of_order_before;
	uint64_t discarded_before;
	uint64_t burst_bad_before;
	/* since the last statistics summary */
	struct moments ipdv_ms;
	bool has_report;
	uint16_t report_begin; /* first number of the next one */
	uint64_t report_lost;  /* until its end */
	uint64_t report_duplicates;
	struct skew skew;
	struct loss_pattern fixed_pattern; /* lost, or discarded by the model */
	struct loss_pattern adaptive_pattern;
	struct skew_point skew_points[2 * SKEW_WINDOWS_LIVE];
};

/** Becomes the observer of a stream.
 * @param stream  has no packet yet; borrowed */
void rtp_quality_init(struct rtp_quality *q, struct rtp_stream *stream);

/** The observer's; arg is the struct rtp_quality. */
extern const struct rtp_observer rtp_quality_observer;

/** The stream is over: patterns become final. Once, before its last second is
 * closed. */
void rtp_quality_finish(struct rtp_quality *q);

/** Fill what a closed second says beside rtp_stream_close_second(), and open
 * the next one. */
void rtp_quality_close_second(struct rtp_quality *q, struct stream_second *ret);

/** Something that no closed second has told yet. */
bool rtp_quality_is_open(struct rtp_quality *q);

/** Fill what the whole stream says beside rtp_stream_total(). After
 * rtp_quality_finish(). */
void rtp_quality_total(struct rtp_quality *q, struct stream_total *ret);

/**
 * The VoIP metrics block about this stream: everything since its start, behind
 * the fixed buffer.
 * Source: RFC 3611 section 4.7
 */
void rtp_quality_voip(struct rtp_quality *q, struct rtcp_voip_metrics *ret);

/**
 * The statistics summary block: packets since the one before.
 * Source: RFC 3611 section 4.6
 * @return false: nothing new was received
 */
bool rtp_quality_summary(struct rtp_quality *q, struct rtcp_stat_summary *ret);

#endif
