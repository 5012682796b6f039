/**
 * Write compound RTCP packets and compute when to send them: no allocation, no
 * state.
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
/* Longest compound: SR with report blocks, SDES, XR with all blocks, BYE */
#define RTCP_COMPOUND_BYTES 320

struct rtcp_compound {
	uint32_t ssrc;   /* ours */
	bool has_sender; /* true: an SR; false: an RR */
	struct rtcp_sender_info sender;
	size_t report_count; /* at most RTCP_REPORTS_MAX */
	struct rtcp_report reports[RTCP_REPORTS_MAX];
	struct rtcp_xr xr; /* without a block there is no XR packet */
	const char *cname; /* at most RTCP_CNAME_BYTES - 1 */
	bool bye;
};

/** Write an SR or RR, SDES with CNAME, XR if it has a block, and BYE if `bye`.
 * @return bytes written */
size_t rtcp_compound_write(uint8_t dst[static RTCP_COMPOUND_BYTES],
			   const struct rtcp_compound *c);

/**
 * Convert the delay since a report was received to the units of DLSR (RFC 3550
 * section 6.4.1) and of the delay in a DLRR (RFC 3611 section 4.5).
 * @param ret  in 1/65536 s
 * @param ns   >= 0
 * @return false: it does not fit 32 bits (18 hours); do not answer that report
 */
bool rtcp_delay(uint32_t *ret, int64_t ns);

struct rtcp_interval_params {
	uint32_t members; /* >= 1, including us */
	uint32_t senders;
	bool we_sent;
	bool initial;         /* nothing was sent yet: the minimum is halved */
	double average_bytes; /* average size of a compound with UDP and IP
			       * headers */
	double session_kbps;  /* both directions, headers included; > 0 */
	uint32_t fixed_ms;    /* not 0: use this interval instead of the
			       * computed one */
};

/**
 * Time until the next report: RFC 3550 section 6.3.1 with the reduced minimum
 * of section 6.2 (360/kbps seconds). It is randomised by 0.5..1.5 and divided
 * by e - 3/2, which compensates for the timer reconsideration of section 6.3.3.
 * A fixed interval is only randomised.
 * @param random  0..1
 * @return ns, > 0
 */
int64_t rtcp_interval_ns(const struct rtcp_interval_params *p, double random);

#endif
