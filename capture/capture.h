/**
 * Measures every RTP stream of a capture with media/analysis. Frames are taken
 * one by one; the streams are in the order of their first packet. SDPs in the
 * capture give media ports and payload types; RTP without an SDP is recognised by
 * its headers (candidates.h).
 *
 * Memory grows with the streams, not with the packets; intervals and RTCP reports
 * are in temporary files. Whatever a ceiling excludes is counted.
 *
 * Thread: one owner. Docs: docs/reference/analyze.md
 */
#ifndef OFFHOOK_CAPTURE_CAPTURE_H
#define OFFHOOK_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/chain_file.h"
#include "capture/filter.h"
#include "capture/flow.h"
#include "capture/header_match.h"
#include "capture/reader.h"
#include "capture/samples.h"
#include "media/analysis/buffer_trial.h"
#include "media/analysis/detail.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/stream.h"

#define CAPTURE_STREAMS_DEFAULT 10000
#define CAPTURE_STREAMS_MAX     200000
#define CAPTURE_REPORTERS_MAX   16384
#define CAPTURE_INTERVALS_MAX   4000000 /* of all streams */
#define CAPTURE_REPORTS_MAX     4000000
/* A silence of more intervals than this has no interval records. */
#define CAPTURE_SILENCE_MAX 3600

#define CAPTURE_TRIALS_MAX 256

enum capture_buffer {
	CAPTURE_BUFFER_FIXED,
	CAPTURE_BUFFER_ADAPTIVE,
};

struct capture_options {
	bool sdp_only;              /* only streams that an SDP announced */
	bool detailed;              /* fill capture_stream.detail */
	int64_t interval_ns;        /* > 0; detailed only */
	double fixed_delay_ms;      /* of the fixed de-jitter buffer */
	enum capture_buffer buffer; /* model of the brief figures */
	/* buffers to try on each stream instead of the brief figures, if not
	 * detailed (capture_stream.trials); borrowed; NULL: none */
	const struct buffer_setting *trials;
	size_t trial_count; /* at most CAPTURE_TRIALS_MAX */
	const struct emodel_declarations *declarations; /* borrowed; NULL */
	size_t streams_max;
	struct filter *filter; /* borrowed; NULL: everything */
};

struct capture_counters {
	uint64_t frames;
	uint64_t stun;
	uint64_t dtls;
	uint64_t rtcp;
	uint64_t invalid; /* unknown datagrams on a media port */
	uint64_t non_media_udp;
	uint64_t not_udp;
	uint64_t fragments;  /* of IP datagrams */
	uint64_t fragmented; /* datagrams reassembled from them */
	uint64_t incomplete; /* not reassembled: a part is missing or cut */
	uint64_t bad_link;   /* frames of an unknown link type */
	uint32_t bad_link_type;
	uint64_t sip; /* messages */
	uint64_t sdp;
	uint64_t streams_left_out; /* packets of streams above the ceiling */
	uint64_t left_out; /* datagrams and segments that the filter excludes */
	uint64_t negative_rtt;
	uint64_t unmatched_reports; /* LSR of no sender report seen here */
	uint64_t
		reporters_left_out; /* round trips of those above the ceiling */
};

/** The brief figures: one buffer model and the losses behind it. */
struct capture_brief {
	const struct rtp_stream *stream;
	struct jb_fixed fixed;
	struct jb_adaptive adaptive;
	struct loss_pattern pattern; /* lost, or discarded by the buffer */
};

struct capture_interval {
	uint64_t index;
	struct stream_second second;
	uint64_t received;
	uint64_t te;
	uint64_t cn;
	uint64_t payload_bytes;
	bool has_fraction;
	uint8_t fraction;
	char codec[16]; /* of the score; "": unknown */
	bool has_score; /* with values of G.113 */
	double r;
	double mos;
	bool has_declared; /* with declared values */
	double declared_r;
	double declared_mos;
	struct distribution series[DETAIL_SERIES_COUNT];
};

struct capture_detail {
	struct stream_detail figures;
	struct samples samples[DETAIL_SERIES_COUNT];
	struct samples_budget *budget;
	struct chain intervals;
	uint64_t next_index;
	uint64_t silence_left_out; /* intervals */
	/* totals at the start of the open interval */
	uint64_t received_before;
	uint64_t te_before;
	uint64_t cn_before;
	uint64_t payload_before;
};

struct capture_stream {
	/* hot: used for each packet; two cache lines, then `stream` */
	_Alignas(64) struct capture_stream
		*successor; /* stream of the next packet, last time */
	struct header_match headers;
	int64_t last_ns;
	uint32_t generation; /* of the endpoints, for which `map` is valid */
	bool announced;      /* by an SDP */
	bool untimed;        /* has frames without a time */
	_Alignas(64) struct rtp_stream stream;
	struct flow_key key;
	struct capture_detail *detail; /* NULL if not detailed */
	struct capture_brief brief;    /* unused if detailed, or with trials */
	struct buffer_trials trials;   /* options->trials; else empty */
	int64_t first_ns;
	struct rtp_payload_map map;
	struct rtp_rest rest; /* of `stream` */
};

_Static_assert(offsetof(struct capture_stream, stream) == 128, "hot lines");

/** The losses behind the buffer model of options->buffer. */
const struct loss_pattern *capture_stream_pattern(
	const struct capture_stream *s, const struct capture_options *options);
/** The score with these losses and the delay of that buffer. */
void capture_stream_score(const struct capture_stream *s,
			  const struct capture_options *options,
			  struct detail_score *ret);

/** A report block, DLRR sub-block, VoIP metrics or statistics summary block. */
struct capture_report {
	int64_t ns;
	struct rtcp_item item;
	bool has_rtt;
	double rtt_ms; /* < 0: the reporter's delay is impossible */
};

struct capture;

/** Begin a capture. @param options  copied. @return 0; -ENOMEM */
int capture_new(struct capture **ret, const struct capture_options *options);
struct capture *capture_free(struct capture *c);

/** Take the next frame. */
void capture_take(struct capture *c, const struct frame *f);

/** No more frames come: compute the final figures. Once. */
void capture_finish(struct capture *c);

/* ---- live capture: not detailed ---- */

/** Gets an interval. @param i  has second, codec and scores; the rest is 0 */
typedef void(capture_interval_h)(struct capture_stream *s,
				 const struct capture_interval *i, void *arg);

/** Close the interval of each stream at a time: all frames before it were taken,
 * none after it. Streams that began later have no interval. */
void capture_tick(struct capture *c, int64_t end_ns,
		  capture_interval_h *handler, void *arg);

typedef void(capture_stream_h)(struct capture_stream *s, void *arg);

/**
 * Remove the streams whose last packet came before a time. If half of the ceiling
 * for announced ports is reached, those that no remaining stream uses are removed;
 * if half of that for reporters, all reporters.
 * @param handler  gets each removed stream with its final figures
 */
void capture_expire(struct capture *c, int64_t before_ns,
		    capture_stream_h *handler, void *arg);

/** Counters of all frames. */
const struct capture_counters *capture_counters(const struct capture *c);
/** Number of streams. */
size_t capture_stream_count(const struct capture *c);
/** A stream. @param i  < capture_stream_count(), in order of the first packet */
struct capture_stream *capture_stream(struct capture *c, size_t i);

/** Hand out the intervals of a stream (const struct capture_interval *); detailed
 * only. @return as chain_file_walk() */
int capture_intervals(struct capture *c, const struct capture_stream *s,
		      chain_file_h *handler, void *arg);
/** Hand out all reports (const struct capture_report *); detailed only.
 * @return as chain_file_walk() */
int capture_reports(struct capture *c, chain_file_h *handler, void *arg);
/** Number of intervals and reports that could not be kept. */
uint64_t capture_left_out(const struct capture *c);

/** Gets the round-trip times of a reporter, by its report blocks, or by its DLRR
 * blocks if it sends no report blocks. */
typedef void(capture_reporter_h)(uint32_t ssrc, const struct distribution *rtt,
				 void *arg);
void capture_reporters(struct capture *c, capture_reporter_h *handler,
		       void *arg);

/** Gets a flow with more than one SSRC. @param changes  SSRCs after the first */
typedef void(capture_flow_h)(const struct flow_key *flow, uint64_t changes,
			     void *arg);
void capture_ssrc_changes(struct capture *c, capture_flow_h *handler,
			  void *arg);

#endif
