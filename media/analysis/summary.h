/**
 * What the measurement says about one stream, as plain data: the only header
 * of media/analysis that the wire and the controller may include.
 * Every figure that may be unknown has a presence bit (style 13).
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SUMMARY_H
#define OFFHOOK_MEDIA_ANALYSIS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Distribution of a set of samples (rtp-analysis section 6). Percentiles by
 * linear interpolation at p*(n-1), standard deviation of the population. */
struct distribution {
	uint64_t n; /* 0: nothing else is valid */
	double min;
	double max;
	double avg;
	double median;
	double p75;
	double p90;
	double p95;
	double stddev;
};

/** One second of one stream in one direction. Counters are of this second. */
struct stream_second {
	int64_t start_ns;    /* monotonic */
	int64_t duration_ns; /* the last second of a stream may be shorter */
	uint64_t packets;    /* on the wire: received + duplicates + stray */
	uint64_t bytes;      /* RTP header + payload of those packets */
	uint64_t expected;   /* valid if has_loss */
	int64_t lost; /* may be < 0: a late packet of an earlier second */
	uint64_t duplicates;
	uint64_t reordered;
	bool has_loss; /* `out`: only where a report of the peer came */
	bool has_jitter;
	double jitter_ms; /* RFC 3550 A.8 value at the end of the second */
	bool has_rtt;
	double rtt_ms; /* latest RTCP round trip within the second */
	bool has_mos;
	double mos; /* G.107 over the last 8 s */
	double r_factor;
};

/** One stream over its whole life. */
struct stream_total {
	uint32_t ssrc;
	char codec[16];
	uint64_t packets;
	uint64_t bytes; /* RTP header + payload */
	bool has_loss;
	uint64_t received;
	uint64_t expected;
	int64_t lost;
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t stray;
	double loss_pct;               /* 100 * lost / expected */
	double burst_ratio;            /* G.107 7.5; 1 without loss */
	struct distribution jitter_ms; /* J after every packet */
	struct distribution rtt_ms;    /* every RTCP round trip */
	struct distribution mos;       /* every second's rtp_mos */
	bool has_score;                /* R and MOS of the whole stream */
	double r_factor;
	double mos_total;
	const char *no_score_reason; /* static text; NULL if has_score */
};

#endif
