/**
 * Round-trip times at a capture point: from the time an SR passes to the time
 * the report block answering it passes, less the time for which the reporter
 * held it. It is the round-trip time between capture point and reporter, and
 * needs only the clock of the capture.
 * Source: RFC 3550 section 6.4.1, RFC 3611 section 4.5;
 * docs/reference/measurement.md
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTCP_TAP_H
#define OFFHOOK_MEDIA_ANALYSIS_RTCP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/rtcp.h"

#define RTCP_TAP_SENT 64 /* SRs and RRTRs remembered; the oldest is replaced */

/** All zero: empty. */
struct rtcp_tap {
	struct {
		int64_t ns;
		uint32_t ssrc;
		uint32_t middle; /* middle 32 bits of its NTP time */
	} sent[RTCP_TAP_SENT];
	size_t next;
	uint64_t negative;  /* results < 0: the reporter's DLSR is too large */
	uint64_t unmatched; /* LSR of a report not seen here */
};

/** An SR or RRTR passed.
 * @param middle  middle 32 bits of its NTP time
 * @param ns      when it passed, > 0 */
void rtcp_tap_sent(struct rtcp_tap *t, uint32_t ssrc, uint32_t middle,
		   int64_t ns);

/**
 * An answer passed: a report block or a DLRR sub-block.
 * @param ssrc        whom it is about
 * @param last        LSR or LRR; 0: it answers nothing
 * @param delay       DLSR or DLRR
 * @param ns          when it passed
 * @param ret_rtt_ms  negative if the reporter's delay is too large: that is
 *                    counted in `negative`, and the value must not be used
 * @return true: it answers what was seen here
 */
bool rtcp_tap_answered(struct rtcp_tap *t, uint32_t ssrc, uint32_t last,
		       uint32_t delay, int64_t ns, double *ret_rtt_ms);

/**
 * Process one item of a compound packet.
 * @param ns          when it passed, > 0
 * @param ret_rtt_ms  negative if the reporter's delay is too large: that is
 *                    counted in `negative`, and the value must not be used
 * @return true: the item answers a report seen here
 */
bool rtcp_tap_item(struct rtcp_tap *t, const struct rtcp_item *item, int64_t ns,
		   double *ret_rtt_ms);

#endif
