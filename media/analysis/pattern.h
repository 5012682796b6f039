/**
 * The pattern of good and bad packets of one stream in order of sequence
 * numbers: runs with their histogram, a Gilbert model, bursts and gaps. Bad
 * packets are the lost ones, and for a buffer model those it discards, too.
 * Source: RFC 3611 section 4.7.2 by its definition (Gmin 16), G.107 clause 7.5;
 * docs/reference/measurement.md "Loss patterns"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_PATTERN_H
#define OFFHOOK_MEDIA_ANALYSIS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "media/analysis/rtp_seq.h"
#include "media/analysis/run_histogram.h"

#define PATTERN_GMIN 16 /* RFC 3611 section 4.7.2 */

/** Bursts and gaps of RFC 3611: a burst begins and ends with a bad packet and
 * contains no Gmin consecutive good ones; between bursts there are gaps. */
struct burst_gap {
	uint64_t bursts;
	uint64_t burst_packets;
	uint64_t burst_bad;
	uint64_t gaps;
	uint64_t gap_packets;
	uint64_t gap_bad;
	/* state of the scan: packets since the last burst, and a possible
	 * burst */
	uint64_t gap_open_bad;
	uint64_t group_packets; /* from its first to its last bad packet */
	uint64_t good_since;    /* good packets after the last bad one */
	/* hot */
	uint64_t group_bad;
	uint64_t gap_open;
};

struct loss_pattern {
	struct burst_gap burst_gap; /* hot: from group_bad on */
	/* hot: used for every run of packets */
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

/** Initialise, without a histogram; the caller may set one before the first
 * packet. */
void pattern_init(struct loss_pattern *p);

/** The same, but packets become final earlier. Packets that arrive later than
 * that must not be added.
 * @param settle  1..RTP_WINDOW_BITS; pattern_init() uses the maximum */
void pattern_init_settling(struct loss_pattern *p, int32_t settle);

/** Add a received packet.
 * @param ext          extended sequence number
 * @param new_segment  a new numbering begins with this packet */
void pattern_add(struct loss_pattern *p, int64_t ext, bool new_segment,
		 bool good);

/**
 * pattern_add() for consecutive numbers without a new segment.
 * @param ext    of the first packet
 * @param count  1..32
 * @param good   bit n: packet n is good
 */
void pattern_add_run(struct loss_pattern *p, int64_t ext, uint32_t count,
		     uint32_t good);

/** prefetch() what pattern_add_run() will write, without reading *p.
 * @param settle  as given to pattern_init_settling() */
void pattern_prefetch(const struct loss_pattern *p, int32_t settle);

/** The stream has ended: what is in the window becomes final. Call it once, at
 * the end. */
void pattern_finish(struct loss_pattern *p);

/** Gilbert model: p good to bad, q bad to good, and the burst ratio 1/(p+q), at
 * least 1.
 * @return false: no bad packet, or no transition */
bool pattern_gilbert(const struct loss_pattern *p, double *ret_p, double *ret_q,
		     double *ret_burst_r);

#endif
