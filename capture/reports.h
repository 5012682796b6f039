/**
 * The RTCP of a capture: the round-trip times of each reporter, and all reports
 * if these are wanted.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_REPORTS_H
#define OFFHOOK_CAPTURE_REPORTS_H

#include "capture/capture.h"
#include "media/analysis/rtcp_tap.h"

#define REPORT_TAPS 1024 /* by a hash of the sender's SSRC; power of two */

struct reporter_rtt {
	struct histogram all;
	struct samples samples;
};

struct reporter {
	struct reporter_rtt by_report;
	struct reporter_rtt by_dlrr;
};

struct reports {
	struct rtcp_tap *tap;    /* REPORT_TAPS; NULL: nothing taken yet */
	struct flow_table table; /* SSRC only */
	struct reporter **reporter;
	uint64_t left_out; /* round trips of reporters above the ceiling */
	struct samples_budget *budget;
	bool keep;
	struct chain_file file;
	struct chain chain;
};

/**
 * Begin. The tables are allocated with the first packet.
 * @param keep    keep each report for capture_reports()
 * @param budget  borrowed until reports_release()
 */
void reports_init(struct reports *r, bool keep, struct samples_budget *budget);
void reports_release(struct reports *r);

/** Forget all reporters if half of CAPTURE_REPORTERS_MAX is used, unless the
 * reports are kept. */
void reports_expire(struct reports *r);

/** Take a datagram with RTCP. @param ns  when it was captured */
void reports_take(struct reports *r, const uint8_t *data, size_t bytes,
		  int64_t ns);

/** Whether a datagram is RTCP by its content: a compound packet that begins with SR
 * or RR and whose lengths add up. */
bool reports_is_rtcp(const uint8_t *data, size_t bytes);

/** Hand out the round-trip times of each reporter. */
void reports_walk(struct reports *r, capture_reporter_h *handler, void *arg);
/** Fill in negative_rtt, unmatched_reports and reporters_left_out. */
void reports_count(const struct reports *r, struct capture_counters *ret);

#endif
