/**
 * RTCP of a capture: round trips of every reporter, and all reports if they
 * are asked for.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_REPORTS_H
#define OFFHOOK_CAPTURE_REPORTS_H

#include "capture/capture.h"
#include "media/analysis/rtcp_tap.h"

#define REPORT_TAPS 1024 /* by the SSRC of the sender report, power of two */

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
	struct samples_budget *budget;
	bool keep;
	struct chain_file file;
	struct chain chain;
};

/** The tables are made with the first packet.
 * @param keep  the reports themselves, too */
void reports_init(struct reports *r, bool keep, struct samples_budget *budget);
void reports_release(struct reports *r);

/** When half of the places for reporters are taken: begin anew. */
void reports_expire(struct reports *r);

/** One datagram of RTCP. */
void reports_take(struct reports *r, const uint8_t *data, size_t bytes,
		  int64_t ns);

/** RTCP by itself: SR or RR first, lengths that fit exactly. */
bool reports_is_rtcp(const uint8_t *data, size_t bytes);

void reports_walk(struct reports *r, capture_reporter_h *handler, void *arg);
void reports_count(const struct reports *r, struct capture_counters *ret);

#endif
