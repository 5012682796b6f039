/**
 * The peer's extended reports (RTCP XR) about a stream we send. Any block is
 * accepted as it is; an impossible one is ignored and counted.
 * Source: RFC 3611 sections 4.6 and 4.7; docs/reference/measurement.md "RTCP"
 * Thread: the analysis thread; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_REMOTE_H
#define OFFHOOK_MEDIA_ANALYSIS_REMOTE_H

#include "media/analysis/rtcp.h"
#include "media/analysis/summary.h"

/** All zero: no report yet. */
struct remote {
	bool has_voip_second;
	bool has_summary_second;
	struct remote_voip voip;       /* the last block */
	struct remote_summary summary; /* the last block */
	struct remote_summary sum;     /* sums of all; the mean is that of their
					* means */
	uint64_t voip_blocks;
	uint64_t summaries;
	uint64_t jitter_blocks;
	uint64_t invalid;
};

/** Process a VoIP metrics block. */
void remote_voip_take(struct remote *r, const struct rtcp_voip_metrics *v);

/**
 * Process a statistics summary.
 * @param clock_hz  of the stream; 0: no jitter
 * @param sent      sequence numbers used so far: a block about more is ignored
 * @return false: it is impossible and ignored
 */
bool remote_summary_take(struct remote *r, const struct rtcp_stat_summary *s,
			 uint32_t clock_hz, uint64_t sent);

/** Fill in what was reported in this second, and open the next one. */
void remote_close_second(struct remote *r, struct stream_second *ret);

/** Fill in the last metrics and the sums of the summaries. */
void remote_total(const struct remote *r, struct stream_total *ret);

#endif
