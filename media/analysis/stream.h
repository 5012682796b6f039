/**
 * The live measurement of one RTP stream: a received one from its packets, a
 * sent one from the packets sent and the peer's reports. Fixed size, to be
 * embedded, with memory of the owner for what most streams do not need (struct
 * rtp_rest); no allocation, clock or lock. Docs: docs/reference/measurement.md
 *
 * Exact: every counter, J, minimum, maximum, mean and standard deviation, loss
 * runs, burst ratio, R and MOS. With bounded error: the percentiles of the
 * whole stream's jitter and RTT (1.6 %) and MOS (0.005).
 *
 * Thread: one at a time (the analysis thread); never blocks.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_STREAM_H
#define OFFHOOK_MEDIA_ANALYSIS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prefetch.h"
#include "media/analysis/codec_count.h"
#include "media/analysis/distribution.h"
#include "media/analysis/emodel.h"
#include "media/analysis/payload_map.h"
#include "media/analysis/record.h"
#include "media/analysis/remote.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/rtp_seq.h"
#include "media/analysis/rtp_strict.h"
#include "media/analysis/rtp_timing.h"
#include "media/analysis/score.h"
#include "media/analysis/skew.h"
#include "media/analysis/summary.h"

/** Result of one packet, for observers that need every sample. */
struct rtp_observation {
	const struct packet_record *record;
	enum rtp_verdict verdict; /* of a packet credited after it was pending:
				   * RTP_IN_ORDER, with `new_segment` if it
				   * began one */
	bool new_segment;
	int64_t ext; /* extended sequence number; not valid for RTP_PENDING */
	struct rtp_sample sample;
};

/** Result of consecutive packets without marker, with the payload type of the
 * packet before, each one period after the other. Each corresponds to an
 * RTP_IN_ORDER observation with its sample. */
struct rtp_run {
	int64_t ext;           /* extended sequence number of the first */
	int64_t mono_ns;       /* arrival of the packet before the run */
	const uint32_t *at_ns; /* [0] is 0; then the arrival of each, after
				* mono_ns */
	uint32_t rtp_ts;       /* of the packet before the run */
	uint32_t period_ticks;
	uint8_t pt;
	const struct rtp_run_samples *samples;
};

/** Functions called for the packets of a stream. */
struct rtp_observer {
	/** A packet; or a pending one that is credited before it. */
	void (*packet)(const struct rtp_observation *o, void *arg);
	/** A run of packets; NULL: `packet` is called for each. */
	void (*run)(const struct rtp_run *run, void *arg);
	/** A run is about to end: prefetch() what `run` will write. May be
	 * NULL. */
	void (*prefetch)(const void *arg);
};

/* Parts of two histograms of times and of one of MOS. */
#define RTP_COUNT_PARTS (2 * HISTOGRAM_PARTS + MOS_PARTS)

_Static_assert(RTP_COUNT_PARTS <= UINT8_MAX, "numbers of parts");

/** What most streams do not use: memory of the owner of a received or a sent
 * stream, of one stream at a time. Any contents before; it is touched only
 * when the stream has no room. */
struct rtp_rest {
	struct count_part parts[RTP_COUNT_PARTS - COUNT_PARTS_FIRST];
	struct codec_count_entry codecs[CODEC_COUNT_MAX - CODEC_COUNT_FIRST];
	struct skew_point skew_points[SKEW_WINDOWS_LIVE];
};

/** A received stream. Private; use the functions. */
struct rtp_stream {
	/* hot: written for every packet; of three cache lines from a 64-byte
	 * boundary the first and one more. The run consists of packets not
	 * processed yet: in sequence, audio of the last payload type, one
	 * packet time apart, no marker. */
	uint32_t run_seq; /* number that continues the run; over 65535: none */
	uint32_t run_ts;  /* timestamp that continues the run */
	uint32_t run_period; /* ticks between packets */
	uint8_t run_octet;   /* second octet of the run's packets */
	uint8_t jitter_part; /* number of the part that counts J; 0: none */
	uint8_t run_count;
	uint8_t last_pt;
	int64_t run_ns; /* arrival of the packet before the run */
	uint32_t run_payload_bytes;
	uint32_t ssrc;
	uint32_t run_header_bytes;
	uint32_t run[RTP_RUN_WHOLE + 1]; /* [0] is 0; arrivals after run_ns */
	/* warm: written for every run, and for every other packet */
	const struct rtp_observer *observer; /* NULL: none */
	void *observer_arg;
	uint32_t pt_clock_hz; /* of last_pt */
	uint8_t pt_kind;      /* of last_pt; 255: unknown */
	bool has_pt;
	bool several_codecs; /* `codecs` has more than one entry */
	struct rtp_strict strict;
	uint64_t bytes; /* RTP header + payload */
	uint64_t payload_bytes;
	uint64_t audio_packets;
	struct rtp_timing timing;
	struct sparse_histogram jitter;
	_Alignas(PREFETCH_LINE) struct rtp_seq seq; /* warm: first cache line */
	uint64_t marker_packets;
	/* state at the start of the open second */
	struct rtp_counters before;
	uint64_t bytes_before;
	uint64_t samples_before;
	uint64_t audio_before;
	int64_t second_start_ns;
	/* cold */
	const struct rtp_payload_map *map;
	uint64_t te_packets;
	uint64_t cn_packets;
	uint64_t unknown_pt_packets;
	uint64_t pt_changes;
	uint8_t audio_pt; /* last audio payload type */
	bool has_audio_pt;
	bool has_rtt; /* in the open second */
	double rtt_ms;
	struct rtp_score score; /* its values are those of the last second */
	struct sparse_histogram rtt;
	/* in `codecs`, of the last closed second; NULL: the first one */
	const struct codec_count_entry *second_codec;
	uint64_t audio_counted; /* audio packets counted in `codecs` */
	struct codec_count codecs;
	struct rtp_rest *rest;     /* borrowed */
	struct count_parts counts; /* of jitter (warm), rtt and score.mos */
};

/* The hot cache lines of adjacent streams must not fall into the same cache
 * set, as they would 4 KiB apart. */
_Static_assert((sizeof(struct rtp_stream) + 63) / 64 % 64 != 0, "stream size");

/**
 * Start a received stream.
 * @param ssrc      its SSRC; only packets of this source may be given to it
 * @param start_ns  start of its first second, monotonic (usually the start of
 *                  the second in which its first packet arrived)
 * @param map       borrowed while the stream is used
 * @param rest      borrowed while the stream is used
 */
void rtp_stream_init(struct rtp_stream *s, uint32_t ssrc, int64_t start_ns,
		     const struct rtp_payload_map *map, struct rtp_rest *rest);

/** The payload types have changed (a new answer); counters and timing
 * continue. */
void rtp_stream_set_map(struct rtp_stream *s,
			const struct rtp_payload_map *map);

/** Prefetch the cache lines that a run writes. */
void rtp_stream_prefetch_warm(const struct rtp_stream *s);

/** Prefetch the cache lines that closing a second reads. It reads the lines of
 * rtp_stream_prefetch(). */
void rtp_stream_prefetch_second(const struct rtp_stream *s);

/** Process one received packet of this SSRC, in order of arrival. Up to
 * RTP_RUN_MAX consecutive packets wait in the stream and are processed
 * together. Functions that read the stream process them first. */
void rtp_stream_update(struct rtp_stream *s, const struct packet_record *r);

/**
 * Set the observer of the packets. Call it before the first packet.
 * @param observer  borrowed while the stream is used
 */
void rtp_stream_observe(struct rtp_stream *s,
			const struct rtp_observer *observer, void *arg);

#define RTP_STREAM_HOT_BYTES (3 * PREFETCH_LINE)

/** Prefetch the cache lines that the stream's next packet will write. */
static inline void rtp_stream_prefetch(const struct rtp_stream *s)
{
	prefetch(s, RTP_STREAM_HOT_BYTES);
}

/** Prefetch the lines of a run if the next packet will complete one. It reads
 * the first of the lines of rtp_stream_prefetch(). */
static inline void rtp_stream_prefetch_run(const struct rtp_stream *s)
{
	if (s->run_count == RTP_RUN_MAX - 1)
		rtp_stream_prefetch_warm(s);
}

/** Process the packets that wait. The functions below call it. */
void rtp_stream_end_run(struct rtp_stream *s);

/** Add an RTCP round-trip time of this stream's session, ms. */
void rtp_stream_add_rtt(struct rtp_stream *s, double rtt_ms);

/**
 * Close the open second at end_ns and open the next one there. Packets belong
 * to the second in which they are processed, so call it before the first packet
 * at or after end_ns; without packets call it by time. A second without packets
 * has packets 0 and no has_*; its loss is counted in the second of the next
 * packet. R and MOS of a second: network loss of the last 8 s, BurstR 1, Ta 0,
 * with the codec of most of the second's audio packets (without any: that of
 * the second before).
 * @param end_ns  > start of the open second
 */
void rtp_stream_close_second(struct rtp_stream *s, int64_t end_ns,
			     struct stream_second *ret);

/** @return start of the open second */
int64_t rtp_stream_second_start_ns(const struct rtp_stream *s);

/** The codec of most audio packets so far, with which the whole stream is
 * scored.
 * @return NULL: none */
const struct codec_count_entry *rtp_stream_codec(const struct rtp_stream *s);
/** Its values.
 * @return all zero without a codec; never NULL */
const struct emodel_values *rtp_stream_values(const struct rtp_stream *s);

/** Codec with which the last closed second is scored.
 * @return NULL: none */
const struct codec_count_entry *rtp_stream_second_codec(
	const struct rtp_stream *s);

/** Totals of the stream so far. Codec and clock rate are those of
 * rtp_stream_codec(). R and MOS: network loss with its burst ratio (clamped to
 * 1..8), Ta 0. Close the last second before (for the distribution of MOS). */
void rtp_stream_total(struct rtp_stream *s, struct stream_total *ret);

/** Get the packet counters. */
void rtp_stream_counters(struct rtp_stream *s, struct rtp_counters *ret);

/** @return two consecutive packets were received: the source is valid (RFC 3550
 *         appendix A.1) */
bool rtp_stream_validated(struct rtp_stream *s);

/**
 * Make a report block about this stream, exactly as in RFC 3550 A.3 and A.8,
 * and start the next reporting interval. The caller sets lsr and dlsr, which
 * are 0.
 * @return false: in probation, no block
 */
bool rtp_stream_report(struct rtp_stream *s, struct rtcp_report *ret);

/* Sources whose reports about one sent stream are kept separately. A further
 * one replaces the one that reported longest ago. */
#define RTP_REPORTERS_MAX 4

/** The last report of a source. Each source counts on its own: another device
 * that takes over the call starts at 0. */
struct rtp_reporter {
	uint32_t ssrc;
	uint32_t ext_max;
	int32_t lost;     /* cumulative */
	uint64_t reports; /* of all sources, when it arrived */
	uint64_t reached; /* numbers from the first one sent to ext_max; may
			   * exceed those known to be used, as a report may
			   * overtake records */
	/* loss from its report blocks: of the last one, and since the last
	 * statistics summary that replaced it */
	uint64_t step_expected;
	int64_t step_lost;
	uint64_t since_expected;
	int64_t since_lost;
	/* for the rate of loss */
	int64_t reported_ns;  /* when the last report arrived */
	int64_t rate_from_ns; /* the loss since then is in no rate yet */
	int64_t rate_lost;
	bool summarised;      /* a statistics summary was received */
	uint16_t summary_end; /* number after the last one it covered */
};

/** A sent stream: counts from the sender, everything else from the peer's
 * reports. */
struct rtp_sender {
	uint32_t ssrc;
	uint32_t clock_hz; /* of the codec being sent */
	uint8_t audio_pt;  /* its payload type */
	uint64_t audio_packets;
	uint64_t packets;
	uint64_t bytes;
	uint64_t payload_bytes;
	uint64_t packets_before;
	uint64_t bytes_before;
	int64_t second_start_ns;
	int32_t lateness_us; /* maximum in the open second; INT32_MIN: none */
	int32_t lateness_max_us; /* likewise in closed ones */
	/* report blocks */
	bool has_report;        /* about the present SSRC */
	bool has_report_second; /* received in the open second */
	bool has_loss_second;   /* one from which the loss is known */
	bool has_first;
	uint16_t first_seq; /* first number sent */
	int64_t last_ext;   /* highest number, extended from the first */
	uint64_t expected;  /* according to the reports so far, of all SSRCs */
	int64_t lost;
	int64_t first_ns; /* when the first packet of this SSRC was sent */
	uint64_t numbers_before; /* used by earlier SSRCs */
	uint64_t expected_xr;    /* part of `expected` whose loss is from
			       * summaries */
	bool has_duplicates;     /* known from summaries */
	uint64_t duplicates;
	struct rtp_reporter reporters[RTP_REPORTERS_MAX];
	size_t reporter_count;
	size_t reporter_last; /* index of the source that reported last */
	double report_jitter_ms;
	uint64_t second_expected; /* from the reports of the open second */
	int64_t second_lost;
	bool has_second_rate; /* of reporters that were given up in it */
	double second_rate;
	bool has_rtt; /* in the open second */
	double rtt_ms;
	uint64_t reports;         /* accepted, of all sources */
	uint64_t invalid_reports; /* impossible values, ignored */
	uint64_t negative_rtt;
	struct remote remote;   /* the peer's XR; its owner fills in VoIP
				 * metrics */
	struct rtp_score score; /* its values are those of the last score */
	uint64_t audio_counted; /* audio packets counted in `codecs` */
	struct codec_count codecs;
	uint8_t before_pt;   /* audio payload type before the last change */
	size_t before_codec; /* index of its codec in `codecs` */
	struct sparse_histogram rtt;
	struct sparse_histogram jitter;
	struct rtp_rest *rest;     /* borrowed */
	struct count_parts counts; /* of rtt, jitter and score.mos */
};

/* The part that a sent packet writes. */
#define RTP_SENDER_HOT_BYTES offsetof(struct rtp_sender, expected)

/**
 * Start a sent stream. Until rtp_sender_set_payload() every packet counts as
 * audio.
 * @param codec     encoding name, for the score; values as emodel_values_of()
 *                  without format parameters
 * @param clock_hz  RTP clock rate of the codec
 * @param rest      borrowed while the stream is used
 */
void rtp_sender_init(struct rtp_sender *s, uint32_t ssrc, int64_t start_ns,
		     const char *codec, uint32_t clock_hz,
		     struct rtp_rest *rest);

/**
 * Set the payload type that is sent from now on (a new answer). Packets with it
 * are audio. Packets with the previous payload type count for the previous
 * codec. Others (telephone-event, comfort noise) are not audio.
 * @param p  audio; copied
 */
void rtp_sender_set_payload(struct rtp_sender *s, const struct rtp_payload *p);

/**
 * The stream goes on with another SSRC, which has its own sequence numbers and
 * is reported from its beginning. Everything counted so far stays; what the
 * reports did not cover of the source before is never known.
 * @param first  its first packet, which is not counted here
 */
void rtp_sender_restart(struct rtp_sender *s,
			const struct packet_record *first);

/** One packet was sent (kind PACKET_RTP_SENT).
 * @param r  lateness_us INT32_MIN: unknown */
void rtp_sender_update(struct rtp_sender *s, const struct packet_record *r);

/** Likewise, but of another SSRC: the reports are not about it. */
void rtp_sender_count(struct rtp_sender *s, const struct packet_record *r);

/**
 * Process a report block about this stream. Blocks about another SSRC and
 * impossible ones (a highest number that was never sent) are ignored and
 * counted.
 * @param reporter      SSRC of the reporter
 * @param mono_ns       time of its arrival, monotonic
 * @param received_ntp  middle 32 bits of the NTP time of its arrival, on the
 *                      clock of our SRs
 * @return true: the block gave a round-trip time, *ret_rtt_ms written
 */
bool rtp_sender_report(struct rtp_sender *s, uint32_t reporter,
		       const struct rtcp_report *report, int64_t mono_ns,
		       uint32_t received_ntp, double *ret_rtt_ms);

/**
 * Process the peer's statistics summary (RFC 3611 section 4.6). If it ends with
 * the same number as the source's last report block, its loss replaces that of
 * the block, which counts duplicates as received (RFC 3550 section 6.4.1).
 * @param reporter  SSRC of the reporter
 */
void rtp_sender_summary(struct rtp_sender *s, uint32_t reporter,
			const struct rtcp_stat_summary *summary);

/** The peer answered our RRTR (RFC 3611 section 4.5).
 * @return as rtp_sender_report() */
bool rtp_sender_dlrr(struct rtp_sender *s, const struct rtcp_dlrr *dlrr,
		     uint32_t received_ntp, double *ret_rtt_ms);

/** Add an RTCP round-trip time that was measured otherwise, ms. */
void rtp_sender_add_rtt(struct rtp_sender *s, double rtt_ms);

/** As rtp_stream_close_second(): packets and bytes are the sender's; has_loss,
 * has_jitter, has_mos and has_rtt are set only if a report with that figure was
 * received in this second. */
void rtp_sender_close_second(struct rtp_sender *s, int64_t end_ns,
			     struct stream_second *ret);

/** Totals of the sent stream so far. */
void rtp_sender_total(struct rtp_sender *s, struct stream_total *ret);

#endif
