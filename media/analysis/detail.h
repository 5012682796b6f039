/**
 * Further figures of a received stream: distributions per interval and for the
 * stream, loss patterns, buffer models, clock skew, scores with buffer
 * discards, RTCP XR fields. It is an observer of rtp_stream. Its memory does
 * not grow with the number of packets. Used to analyse captures, not for live
 * calls.
 *
 * All figures are exact, with these exceptions: percentiles of a whole stream
 * and of intervals with more than DETAIL_SAMPLES_MAX packets (1.6 %, see struct
 * histogram), and the skew of streams longer than 512 s (longer windows).
 *
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_DETAIL_H
#define OFFHOOK_MEDIA_ANALYSIS_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/jitter_buffer.h"
#include "media/analysis/jitter_ticks.h"
#include "media/analysis/pattern.h"
#include "media/analysis/skew.h"
#include "media/analysis/stream.h"

#define DETAIL_SAMPLES_MAX 512

/** Samples of one figure; those of the open interval are kept exactly. */
struct series {
	size_t n; /* number in samples; DETAIL_SAMPLES_MAX + 1: they are in
		   * `interval` */
	double samples[DETAIL_SAMPLES_MAX];
	struct histogram interval;
	struct histogram all;
};

/** Add a sample to the open interval. */
void series_add(struct series *s, double ms);
/** Get the distribution of the open interval and begin the next one. */
void series_close(struct series *s, struct distribution *ret);

enum detail_series {
	DETAIL_IPDV,   /* |D| */
	DETAIL_JITTER, /* J after every sample */
	DETAIL_DELTA,  /* time between arrivals */
	DETAIL_PDV,    /* transit time above its minimum, RFC 5481 */
	DETAIL_SERIES_COUNT,
};

enum detail_pattern {
	DETAIL_NETWORK,
	DETAIL_FIXED,
	DETAIL_ADAPTIVE,
	DETAIL_PATTERN_COUNT,
};

struct stream_detail {
	struct series series[DETAIL_SERIES_COUNT];
	struct loss_pattern network;
	struct loss_pattern fixed; /* bad: lost, or discarded by jb_fixed */
	struct loss_pattern adaptive;
	/* of the patterns above; the owner must make room for long runs before
	 * each packet (run_histogram.h) */
	struct run_histogram histograms[DETAIL_PATTERN_COUNT];
	struct jb_fixed jb_fixed;
	struct jb_adaptive jb_adaptive;
	struct skew skew;
	struct skew_point skew_points[2 * SKEW_WINDOWS_CAPTURE];
	struct rtp_strict no_probation;
	struct jitter_ticks jitter_ticks;
	uint64_t pt_packets[128]; /* audio packets with timing */
	const struct rtp_stream *stream;
};

/** @param stream  the observed stream, borrowed */
void stream_detail_init(struct stream_detail *d,
			const struct rtp_stream *stream);

/** Functions for rtp_observer; arg is the struct stream_detail. */
void stream_detail_observe(const struct rtp_observation *o, void *arg);
/** The same for a run of packets. */
void stream_detail_observe_run(const struct rtp_run *run, void *arg);

/** The stream has ended: patterns become final. Call it once, at the end. */
void stream_detail_finish(struct stream_detail *d);

/** Packet time in ms: the last measured one, or the default of the clock rate
 * (20 ms).
 * @param ret_measured  may be NULL */
double stream_detail_period_ms(const struct stream_detail *d,
			       bool *ret_measured);

/** Score with the discards and the delay of a buffer model. */
struct detail_score {
	struct score score;    /* with the values of the payload type */
	struct score standard; /* with the values of G.113 only */
	double ta_ms; /* delay: buffer, packet time and look-ahead of the
		       * codec */
};
/** Score a pattern of bad packets behind a buffer that delays by buffer_ms. */
void detail_score_pattern(const struct rtp_stream *stream,
			  const struct loss_pattern *p, double buffer_ms,
			  struct detail_score *ret);
/** The same with the values of another codec.
 * @param packet_ms  packet time */
void detail_score_values(const struct emodel_values *values, double packet_ms,
			 const struct loss_pattern *p, double buffer_ms,
			 struct detail_score *ret);
/** Score the stream behind the fixed buffer. */
void stream_detail_score_fixed(const struct stream_detail *d,
			       struct detail_score *ret);
/** Score the stream behind the adaptive buffer. */
void stream_detail_score_adaptive(const struct stream_detail *d,
				  struct detail_score *ret);

/** VoIP metrics (RFC 3611 section 4.7) from loss and the discards of the fixed
 * buffer. */
void stream_detail_xr(const struct stream_detail *d,
		      struct rtcp_voip_metrics *ret);

/** Input for the VoIP metrics of a stream. */
struct voip_input {
	const struct rtp_stream *stream;
	const struct loss_pattern *pattern; /* bad: lost or discarded;
					     * finished */
	uint64_t lost;
	uint64_t discarded;
	double buffer_ms;
	double network_ms; /* one way; 0: unknown */
};
/** Compute the fields of RFC 3611 section 4.7, without round-trip and end
 * system delay. */
void detail_voip_metrics(const struct voip_input *in,
			 struct rtcp_voip_metrics *ret);

/** Densities 0..1 and mean durations of bursts and gaps. */
struct burst_gap_figures {
	double burst_density;
	double gap_density;
	double burst_duration_ms;
	double gap_duration_ms;
};
/** Compute the figures.
 * @param period_ms  packet time */
void burst_gap_figures(const struct burst_gap *b, double period_ms,
		       struct burst_gap_figures *ret);

#endif
