/**
 * Every RTP stream of a capture, measured by media/analysis: frames go in
 * one by one, streams come out in order of their first packet. SDPs found on
 * the way name media ports and payload types; RTP without SDP is found by
 * its behaviour (candidates.h).
 *
 * Memory is bounded by the streams, not by the packets; intervals and RTCP
 * reports lie in temporary files. What a ceiling left out is counted.
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
#include "media/analysis/detail.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/stream.h"

#define CAPTURE_STREAMS_DEFAULT 10000
#define CAPTURE_STREAMS_MAX     200000
#define CAPTURE_REPORTERS_MAX   16384
#define CAPTURE_INTERVALS_MAX   4000000 /* of all streams */
#define CAPTURE_REPORTS_MAX     4000000
/* A silence of more intervals than this is left out of them. */
#define CAPTURE_SILENCE_MAX 3600

enum capture_buffer {
	CAPTURE_BUFFER_FIXED,
	CAPTURE_BUFFER_ADAPTIVE,
};

struct capture_options {
	bool sdp_only;         /* streams that an SDP announced, no others */
	bool detailed;         /* figures of capture_stream.detail */
	int64_t interval_ns;   /* > 0; detailed only */
	double fixed_delay_ms; /* of the fixed buffer */
	enum capture_buffer buffer; /* the model of the brief figures */
	const struct emodel_declarations *declarations; /* borrowed; NULL */
	size_t streams_max;
	struct filter *filter; /* borrowed; NULL: everything */
};

struct capture_counters {
	uint64_t frames;
	uint64_t stun;
	uint64_t dtls;
	uint64_t rtcp;
	uint64_t invalid; /* on a media port and none of these */
	uint64_t non_media_udp;
	uint64_t not_udp;
	uint64_t fragments;  /* of IP datagrams */
	uint64_t fragmented; /* datagrams put together of them */
	uint64_t incomplete; /* not put together: a part is missing or cut */
	uint64_t bad_link;   /* frames of a link type that is not read */
	uint32_t bad_link_type;
	uint64_t sip; /* messages */
	uint64_t sdp;
	uint64_t streams_left_out; /* packets of streams above the ceiling */
	uint64_t left_out;         /* datagrams and segments, by the filter */
	uint64_t negative_rtt;
	uint64_t unmatched_reports; /* LSR of no sender report seen here */
};

/** What the table needs: one buffer model, bad packets behind it. */
struct capture_brief {
	const struct rtp_stream *stream;
	struct jb_fixed fixed;
	struct jb_adaptive adaptive;
	struct loss_pattern pattern; /* lost, or discarded by the model */
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
	char codec[16]; /* it is scored with; "": none known */
	bool has_score; /* by G.113 */
	double r;
	double mos;
	bool has_declared; /* by declared values */
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
	/* totals before the open interval */
	uint64_t received_before;
	uint64_t te_before;
	uint64_t cn_before;
	uint64_t payload_before;
};

struct capture_stream {
	/* hot: every packet; of two cache lines, the first of `stream` follows */
	_Alignas(64) struct capture_stream
		*successor; /* whose packet came next */
	struct header_match headers;
	int64_t last_ns;
	uint32_t generation; /* of the endpoints when the map was made */
	bool announced;      /* by an SDP */
	bool untimed;        /* frames without a time among it */
	_Alignas(64) struct rtp_stream stream;
	struct flow_key key;
	struct capture_detail *detail; /* NULL if not detailed */
	struct capture_brief brief;    /* unused if detailed */
	int64_t first_ns;
	struct rtp_payload_map map;
};

_Static_assert(offsetof(struct capture_stream, stream) == 128, "hot lines");

/** Bad packets behind the buffer model of the brief figures, and the score
 * they give. */
const struct loss_pattern *capture_stream_pattern(
	const struct capture_stream *s, const struct capture_options *options);
void capture_stream_score(const struct capture_stream *s,
			  const struct capture_options *options,
			  struct detail_score *ret);

/** A report block, DLRR sub-block, VoIP metrics or statistics summary block. */
struct capture_report {
	int64_t ns;
	struct rtcp_item item;
	bool has_rtt;
	double rtt_ms; /* < 0: the reporter's delay cannot be */
};

struct capture;

/** @return 0; -ENOMEM */
int capture_new(struct capture **ret, const struct capture_options *options);
struct capture *capture_free(struct capture *c);

void capture_take(struct capture *c, const struct frame *f);

/** No more frames: figures become final. Once, last. */
void capture_finish(struct capture *c);

/* ---- without end: not detailed ---- */

/** @param i  only second, has_codec and the scores; the rest 0 */
typedef void(capture_interval_h)(struct capture_stream *s,
				 const struct capture_interval *i, void *arg);

/** End the interval of every stream at a time: the frames before it were
 * taken, those from then on not yet. Streams that began later are left out. */
void capture_tick(struct capture *c, int64_t end_ns,
		  capture_interval_h *handler, void *arg);

typedef void(capture_stream_h)(struct capture_stream *s, void *arg);

/**
 * Let go of streams whose last packet came before a time. What was learned of
 * ports and reporters goes with them when half of its ceiling is reached, but
 * for what is about streams that stay.
 * @param handler  gets each with its final figures
 */
void capture_expire(struct capture *c, int64_t before_ns,
		    capture_stream_h *handler, void *arg);

const struct capture_counters *capture_counters(const struct capture *c);
size_t capture_stream_count(const struct capture *c);
/** @param i  < capture_stream_count(), in order of the first packet */
struct capture_stream *capture_stream(struct capture *c, size_t i);

/** Intervals (const struct capture_interval *). @return as chain_file_walk() */
int capture_intervals(struct capture *c, const struct capture_stream *s,
		      chain_file_h *handler, void *arg);
/** Reports (const struct capture_report *); detailed only. */
int capture_reports(struct capture *c, chain_file_h *handler, void *arg);
/** Intervals and reports that could not be kept. */
uint64_t capture_left_out(const struct capture *c);

/** Round trips of each reporter, of its report blocks, or of its DLRR blocks
 * if those are all it sends. */
typedef void(capture_reporter_h)(uint32_t ssrc, const struct distribution *rtt,
				 void *arg);
void capture_reporters(struct capture *c, capture_reporter_h *handler,
		       void *arg);

/** Flows with more than one SSRC. @param changes  SSRCs after the first */
typedef void(capture_flow_h)(const struct flow_key *flow, uint64_t changes,
			     void *arg);
void capture_ssrc_changes(struct capture *c, capture_flow_h *handler,
			  void *arg);

#endif
