/**
 * The pattern of good and bad packets of one stream in order of sequence:
 * runs with their histogram, a Gilbert model, bursts and gaps. Bad is lost,
 * or lost or discarded by a buffer model.
 * Source: RFC 3611 section 4.7.2 by its definition (Gmin 16), G.107 clause
 * 7.5; docs/reference/measurement.md "Loss patterns"
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_PATTERN_H
#define OFFHOOK_MEDIA_ANALYSIS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/rtp_seq.h"
#include "media/analysis/run_histogram.h"

#define PATTERN_GMIN 16 /* RFC 3611 section 4.7.2 */

/** Periods of RFC 3611: a burst begins and ends with a bad packet and holds
 * no Gmin good ones in a row; what is between bursts is gap. */
struct burst_gap {
	uint64_t bursts;
	uint64_t burst_packets;
	uint64_t burst_bad;
	uint64_t gaps;
	uint64_t gap_packets;
	uint64_t gap_bad;
	/* the scan: packets since the last burst, and what may become one */
	uint64_t gap_open_bad;
	uint64_t group_packets; /* first bad to last bad */
	uint64_t good_since;    /* after the last bad one */
	/* hot */
	uint64_t group_bad;
	uint64_t gap_open;
};

struct loss_pattern {
	struct burst_gap burst_gap; /* hot: from group_bad on */
	/* hot: every run of packets */
	int32_t settle; /* numbers this far behind the newest are final */
	uint16_t window_bits;
	bool started;
	bool has_last;
	bool last_good;
	int64_t base;
	int64_t max;
	uint64_t packets;
	uint64_t after_good;   /* packets that follow a good one */
	struct loss_runs runs; /* hot: open */
	uint64_t good[RTP_WINDOW_BITS / 64]; /* hot: two words */
	/* cold */
	uint64_t after_bad;
	uint64_t good_to_bad;
	uint64_t bad_to_good;
	struct run_histogram *histogram; /* borrowed; NULL: not wanted */
};

/** Without a histogram; whoever wants one sets it before the first packet. */
void pattern_init(struct loss_pattern *p);

/** The same, final after fewer packets: what is taken later than that must not
 * be given to it. @param settle  1..RTP_WINDOW_BITS; pattern_init(): the most */
void pattern_init_settling(struct loss_pattern *p, int32_t settle);

/** A received packet by its extended number.
 * @param new_segment  the numbers begin anew with it */
void pattern_add(struct loss_pattern *p, int64_t ext, bool new_segment,
		 bool good);

/**
 * pattern_add() of numbers in sequence, none of them a new segment.
 * @param ext    of the first
 * @param count  1..32
 * @param good   bit 0 for the first
 */
void pattern_add_run(struct loss_pattern *p, int64_t ext, uint32_t count,
		     uint32_t good);

/** prefetch() what pattern_add_run() will write, without a look at it.
 * @param settle  as it was made with */
void pattern_prefetch(const struct loss_pattern *p, int32_t settle);

/** The stream is over: what the window holds is final. Once, last. */
void pattern_finish(struct loss_pattern *p);

/** Gilbert model: p good to bad, q bad to good, and the burst ratio 1/(p+q),
 * not below 1.
 * @return false: nothing bad, or no transition to tell */
bool pattern_gilbert(const struct loss_pattern *p, double *ret_p, double *ret_q,
		     double *ret_burst_r);

#endif
