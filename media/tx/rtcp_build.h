/**
 * Write compound RTCP packets, and decide when: no allocation, no state.
 * Source: RFC 3550 sections 6.1 to 6.6, appendix A.7
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_TX_RTCP_BUILD_H
#define OFFHOOK_MEDIA_TX_RTCP_BUILD_H

#include "media/analysis/rtcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTCP_CNAME_BYTES 32 /* with its terminator */
/* SR with its report blocks, SDES, XR with its blocks, BYE, at most */
#define RTCP_COMPOUND_BYTES 320

struct rtcp_compound {
	uint32_t ssrc;   /* ours */
	bool has_sender; /* an SR; else an RR */
	struct rtcp_sender_info sender;
	size_t report_count; /* at most RTCP_REPORTS_MAX */
	struct rtcp_report reports[RTCP_REPORTS_MAX];
	struct rtcp_xr xr; /* no block: no such packet */
	const char *cname; /* at most RTCP_CNAME_BYTES - 1 */
	bool bye;
};

/** Write SR or RR, SDES with CNAME, XR if it has a block, and BYE if asked. @return its bytes */
size_t rtcp_compound_write(uint8_t dst[static RTCP_COMPOUND_BYTES],
			   const struct rtcp_compound *c);

/**
 * The time since a report came, as an answer to it carries it (DLSR, RFC 3550
 * 6.4.1; DLRR, RFC 3611 4.5): 1/65536 s.
 * @param ns  >= 0
 * @return false: 32 bits are not enough (18 hours), there is nothing to answer
 */
bool rtcp_delay(uint32_t *ret, int64_t ns);

struct rtcp_interval_params {
	uint32_t members; /* >= 1, us included */
	uint32_t senders;
	bool we_sent;
	bool initial;         /* nothing was sent yet: half the minimum */
	double average_bytes; /* of a compound with UDP and IP headers */
	double session_kbps;  /* both directions, headers included; > 0 */
	uint32_t fixed_ms;    /* not 0: this instead of the computed one */
};

/**
 * Time until the next report: RFC 3550 6.3.1 with the reduced minimum of 6.2
 * (360/kbps seconds), randomised by 0.5..1.5 and compensated (e - 3/2) for
 * the reconsideration of 6.3.3. A fixed interval is randomised only.
 * @param random  0..1
 * @return ns, > 0
 */
int64_t rtcp_interval_ns(const struct rtcp_interval_params *p, double random);

#endif
