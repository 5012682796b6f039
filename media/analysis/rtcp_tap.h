/**
 * Round trip times at a point on the way (a capture): from the passing of a
 * sender report to the passing of the report that answers it, less the time
 * the answerer held it. It is the round trip between the tap and the
 * reporter, and needs no clock but the tap's.
 * Source: RFC 3550 section 6.4.1, RFC 3611 section 4.5; docs/reference/measurement.md
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTCP_TAP_H
#define OFFHOOK_MEDIA_ANALYSIS_RTCP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/rtcp.h"

#define RTCP_TAP_SENT 64 /* sender reports and RRTR remembered, newest */

/** All zero: empty. */
struct rtcp_tap {
	struct {
		int64_t ns;
		uint32_t ssrc;
		uint32_t middle; /* of its NTP time */
	} sent[RTCP_TAP_SENT];
	size_t next;
	uint64_t negative;  /* results < 0: the reporter's DLSR is too big */
	uint64_t unmatched; /* LSR of no report seen here */
};

/**
 * Take one item of a compound packet.
 * @param ns          when it passed
 * @param ret_rtt_ms  < 0 is possible: counted, not to be used
 * @return true: the item answers a report seen here
 */
bool rtcp_tap_item(struct rtcp_tap *t, const struct rtcp_item *item, int64_t ns,
		   double *ret_rtt_ms);

#endif
