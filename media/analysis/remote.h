/**
 * What the peer's extended reports (RTCP XR) say about a stream we send. Any
 * block is taken for what it says; what cannot be is ignored and counted.
 * Source: RFC 3611 sections 4.6 and 4.7; docs/reference/measurement.md "RTCP"
 * Thread: the analysis thread; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_REMOTE_H
#define OFFHOOK_MEDIA_ANALYSIS_REMOTE_H

#include "media/analysis/rtcp.h"
#include "media/analysis/summary.h"

/** All zero: nothing came. */
struct remote {
	bool has_voip_second;
	bool has_summary_second;
	struct remote_voip voip;       /* the last block */
	struct remote_summary summary; /* the last block */
	struct remote_summary sum;     /* all of them; mean is of their means */
	uint64_t voip_blocks;
	uint64_t summaries;
	uint64_t jitter_blocks;
	uint64_t invalid;
};

void remote_voip_take(struct remote *r, const struct rtcp_voip_metrics *v);

/**
 * @param clock_hz  of the stream; 0: no jitter
 * @param sent      packets sent until now: a block about more is ignored
 * @return false: it cannot be, and is ignored
 */
bool remote_summary_take(struct remote *r, const struct rtcp_stat_summary *s,
			 uint32_t clock_hz, uint64_t sent);

/** Fill what came within the second, and open the next one. */
void remote_close_second(struct remote *r, struct stream_second *ret);

/** Fill the last metrics and the sums of the summaries. */
void remote_total(const struct remote *r, struct stream_total *ret);

#endif
