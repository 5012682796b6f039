/**
 * The measurement of one RTP stream, live: received ones packet by packet,
 * sent ones from the packets sent and the peer's reports. Fixed size, for
 * embedding; no allocation, clock or lock. Docs: docs/reference/measurement.md
 *
 * Exact: every counter, J, minimum, maximum, average and standard deviation,
 * loss runs, burst ratio, R and MOS. Of bounded error: the percentiles of the
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
#include "media/analysis/record.h"
#include "media/analysis/remote.h"
#include "media/analysis/rtcp.h"
#include "media/analysis/rtp_seq.h"
#include "media/analysis/rtp_strict.h"
#include "media/analysis/rtp_timing.h"
#include "media/analysis/score.h"
#include "media/analysis/summary.h"

#define RTP_PAYLOADS_MAX 24 /* payload types of a session */

enum rtp_payload_kind {
	RTP_PAYLOAD_AUDIO,
	RTP_PAYLOAD_CN, /* comfort noise, RFC 3389 */
	RTP_PAYLOAD_TE, /* telephone-event, RFC 4733 */
};

/** What a payload type means (the SDP's rtpmap, or RFC 3551). */
struct rtp_payload {
	uint32_t clock_hz;           /* RTP clock; 0: unknown, no jitter */
	uint8_t pt;                  /* 0..127 */
	uint8_t kind;                /* enum rtp_payload_kind */
	char codec[16];              /* encoding name, e.g. "PCMU" */
	struct emodel_values values; /* that it is scored with */
};

/** Constant while a stream uses it; may be shared by streams. */
struct rtp_payload_map {
	size_t count; /* <= RTP_PAYLOADS_MAX */
	struct rtp_payload entries[RTP_PAYLOADS_MAX];
};

/** Kind by encoding name: "CN", "telephone-event", else audio; any case. */
enum rtp_payload_kind rtp_payload_kind_of(const char *encoding);

/**
 * Append a payload type; kind from the name, values as emodel_values_of()
 * without format parameters.
 * @return 0; -ENOSPC the map is full; -EINVAL pt > 127; -EEXIST
 */
int rtp_payload_map_add(struct rtp_payload_map *map, uint8_t pt,
			const char *encoding, uint32_t clock_hz);

/** What became of one packet: for whoever needs every sample. */
struct rtp_observation {
	const struct packet_record *record;
	enum rtp_verdict verdict; /* of a packet credited after it was pending:
				   * RTP_IN_ORDER, `new_segment` set if so */
	bool new_segment;
	int64_t ext; /* extended number; not if RTP_PENDING */
	struct rtp_sample sample;
};

/** What became of packets in sequence, without marker, of the payload type of
 * the packet before, each a period after it: each as an RTP_IN_ORDER
 * observation of its sample. */
struct rtp_run {
	int64_t ext;           /* extended number of the first */
	int64_t mono_ns;       /* arrival of the packet before */
	const uint32_t *at_ns; /* [0] is 0; then of each, after that */
	uint32_t rtp_ts;       /* of the packet before */
	uint32_t period_ticks;
	uint8_t pt;
	const struct rtp_run_samples *samples;
};

/** Who wants to know what became of packets. */
struct rtp_observer {
	/** A packet, or a credited pending one before the packet. */
	void (*packet)(const struct rtp_observation *o, void *arg);
	/** Several at once; NULL: every packet singly. */
	void (*run)(const struct rtp_run *run, void *arg);
	/** A run follows: prefetch() what it will write. May be NULL. */
	void (*prefetch)(const void *arg);
};

/** A received stream. Private; read it through the functions. */
struct rtp_stream {
	/* hot: every packet; of three cache lines from a 64-byte boundary the
	 * first and one more. A run is the packets that are not taken into
	 * account yet: in sequence, audio of the last payload type, a packet
	 * time apart, no marker. */
	uint32_t run_seq; /* number that continues the run; over 65535: none */
	uint32_t run_ts;  /* timestamp that does */
	uint32_t run_period; /* ticks between packets */
	uint8_t run_octet;   /* second octet of the run's packets */
	uint8_t jitter_line; /* histogram_line() of J */
	uint8_t run_count;
	uint8_t last_pt;
	int64_t run_ns; /* arrival of the packet before the run */
	uint32_t run_payload_bytes;
	uint32_t ssrc;
	uint32_t run_header_bytes;
	uint32_t run[RTP_RUN_WHOLE + 1]; /* [0] is 0; arrival after run_ns */
	/* warm: every run, and every other packet */
	const struct rtp_observer *observer; /* NULL: nobody */
	void *observer_arg;
	uint32_t pt_clock_hz; /* of last_pt */
	uint8_t pt_kind;      /* of last_pt; 255: unknown */
	bool has_pt;
	bool several_codecs; /* `codecs` has more than one */
	struct rtp_strict strict;
	uint64_t bytes; /* RTP header + payload */
	uint64_t payload_bytes;
	uint64_t audio_packets;
	struct rtp_timing timing;
	struct histogram jitter; /* warm: moments, and a few counts */
	_Alignas(PREFETCH_LINE) struct rtp_seq seq; /* warm: the first line */
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
	bool has_rtt; /* within the open second */
	double rtt_ms;
	struct rtp_score score; /* its values: those of the last second */
	struct histogram rtt;
	size_t second_codec;    /* of the second closed last, in `codecs` */
	uint64_t audio_counted; /* audio packets that are in `codecs` */
	struct codec_count codecs;
};

/* Streams side by side must not have their hot lines in one set of the cache,
 * as they would 4 KiB apart. */
_Static_assert((sizeof(struct rtp_stream) + 63) / 64 % 64 != 0, "stream size");

/**
 * Start a received stream.
 * @param ssrc      its SSRC; packets of others must not be given to it
 * @param start_ns  start of its first second, monotonic (usually that of the
 *                  second in which its first packet came)
 * @param map       borrowed while the stream is used
 */
void rtp_stream_init(struct rtp_stream *s, uint32_t ssrc, int64_t start_ns,
		     const struct rtp_payload_map *map);

/** Append an entry of another map, with its values. @return the same */
int rtp_payload_map_copy(struct rtp_payload_map *map,
			 const struct rtp_payload *entry);

/** The entry of a payload type. @return NULL: not in it */
const struct rtp_payload *rtp_payload_map_find(
	const struct rtp_payload_map *map, uint8_t pt);

/** Payload types changed (a new answer); counters and timing go on. */
void rtp_stream_set_map(struct rtp_stream *s,
			const struct rtp_payload_map *map);

/** Ask for the lines that a run writes. */
void rtp_stream_prefetch_warm(const struct rtp_stream *s);

/** Ask for the lines that closing a second reads: by who closes it soon. Reads
 * the first ones, of rtp_stream_prefetch(). */
void rtp_stream_prefetch_second(const struct rtp_stream *s);

/** Take one received packet of this SSRC, in order of arrival. Packets in
 * sequence wait in the stream, up to RTP_RUN_MAX, and are taken into account
 * together: whatever reads the stream does that first. */
void rtp_stream_update(struct rtp_stream *s, const struct packet_record *r);

/**
 * Tell an observer of every packet; before the first one.
 * @param observer  borrowed while the stream is used
 */
void rtp_stream_observe(struct rtp_stream *s,
			const struct rtp_observer *observer, void *arg);

#define RTP_STREAM_HOT_BYTES (3 * PREFETCH_LINE)

/** Ask for the lines that its next packet is written to: by who knows whose
 * packet comes soon. */
static inline void rtp_stream_prefetch(const struct rtp_stream *s)
{
	prefetch(s, RTP_STREAM_HOT_BYTES);
}

/** The same for what its next packet ends: a run, of all its packets. Reads
 * the first of those lines. */
static inline void rtp_stream_prefetch_run(const struct rtp_stream *s)
{
	if (s->run_count == RTP_RUN_MAX - 1)
		rtp_stream_prefetch_warm(s);
}

/** Take the packets into account that wait. The functions below do. */
void rtp_stream_end_run(struct rtp_stream *s);

/** An RTCP round trip that belongs to this stream's session, ms. */
void rtp_stream_add_rtt(struct rtp_stream *s, double rtt_ms);

/**
 * Close the open second at end_ns and open the next one there. Packets
 * belong to the second of their arrival order, so call it before the first
 * packet at or after end_ns is taken; without packets call it by time.
 * A second without packets has packets 0 and no has_*: its loss shows in the
 * second of the next packet. A second's R and MOS: network loss of the last
 * 8 s, BurstR 1, Ta 0, with the codec of most of the second's audio packets
 * (without any: that of the second before).
 * @param end_ns  > start of the open second
 */
void rtp_stream_close_second(struct rtp_stream *s, int64_t end_ns,
			     struct stream_second *ret);

/** Start of the open second. */
int64_t rtp_stream_second_start_ns(const struct rtp_stream *s);

/** Codec of most of the stream's audio packets until now: what the whole
 * stream is scored with. @return NULL: none */
const struct codec_count_entry *rtp_stream_codec(const struct rtp_stream *s);
/** Its values. @return all zero without a codec; never NULL */
const struct emodel_values *rtp_stream_values(const struct rtp_stream *s);

/** Codec that the second closed last is scored with. @return NULL: none */
const struct codec_count_entry *rtp_stream_second_codec(
	const struct rtp_stream *s);

/** Whole stream until now. Codec and clock rate are those of
 * rtp_stream_codec(). R and MOS: network loss with its burst ratio
 * (clamped 1..8), Ta 0. Close the last second first (mos distribution). */
void rtp_stream_total(struct rtp_stream *s, struct stream_total *ret);

/** Counters of rtp-analysis 2.3. */
void rtp_stream_counters(struct rtp_stream *s, struct rtp_counters *ret);

/** Two packets in sequence were seen: worth publishing (RFC 3550 A.1). */
bool rtp_stream_validated(struct rtp_stream *s);

/**
 * A report block about this stream, strictly as RFC 3550 A.3 and A.8; starts
 * the next reporting interval. lsr and dlsr are 0: the caller's.
 * @return false: still in probation, no block
 */
bool rtp_stream_report(struct rtp_stream *s, struct rtcp_report *ret);

/* Sources whose reports on one sent stream are kept apart; a further one takes
 * the place of the one that reported longest ago. */
#define RTP_REPORTERS_MAX 4

/** What a source reported last. Its counts are its own: another device that
 * takes the call over begins at 0. */
struct rtp_reporter {
	uint32_t ssrc;
	uint32_t ext_max;
	int32_t lost;     /* cumulative */
	uint64_t packets; /* sent when it came */
	uint64_t reports; /* of all sources, when it came */
	uint64_t reached; /* numbers from the first one sent to ext_max */
	/* loss by its report blocks: of the last one, and since the last
	 * statistics summary that replaced it */
	uint64_t step_expected;
	int64_t step_lost;
	uint64_t since_expected;
	int64_t since_lost;
	bool summarised;      /* a summary came */
	uint16_t summary_end; /* number after its last one */
};

/** A sent stream: counts from the sender, the rest from the peer's reports. */
struct rtp_sender {
	uint32_t ssrc;
	uint32_t clock_hz; /* of the codec being sent */
	uint8_t audio_pt;  /* of it */
	uint64_t audio_packets;
	uint64_t packets;
	uint64_t bytes;
	uint64_t payload_bytes;
	uint64_t packets_before;
	uint64_t bytes_before;
	int64_t second_start_ns;
	int32_t lateness_us;     /* largest of the open second */
	int32_t lateness_max_us; /* of the closed ones; INT32_MIN: none */
	/* report blocks */
	bool has_report;
	bool has_report_second; /* one came within the open second */
	bool has_loss_second;   /* one that says what was lost */
	bool has_first;
	uint16_t first_seq; /* first number sent */
	int64_t last_ext;   /* highest one, extended from the first */
	uint64_t expected;  /* by the reports so far */
	int64_t lost;
	uint64_t expected_xr; /* of `expected`: loss is of summaries */
	bool has_duplicates;  /* summaries tell them */
	uint64_t duplicates;
	struct rtp_reporter reporters[RTP_REPORTERS_MAX];
	size_t reporter_count;
	size_t reporter_last; /* who reported last */
	double report_jitter_ms;
	uint64_t second_expected; /* by the reports of the open second */
	int64_t second_lost;
	bool has_rtt; /* within the open second */
	double rtt_ms;
	uint64_t reports;         /* taken, of all sources */
	uint64_t invalid_reports; /* impossible values, ignored */
	uint64_t negative_rtt;
	struct remote remote;   /* XR of the peer; VoIP metrics by its owner */
	struct rtp_score score; /* its values: those of the last score */
	struct histogram rtt;
	struct histogram jitter;
	uint64_t audio_counted; /* audio packets that are in `codecs` */
	struct codec_count codecs;
	uint8_t before_pt;   /* audio payload type until the last change */
	size_t before_codec; /* its codec, in `codecs` */
};

/* What a packet sent is written to. */
#define RTP_SENDER_HOT_BYTES offsetof(struct rtp_sender, expected)

/**
 * Start a sent stream. Until rtp_sender_set_payload() every packet is audio.
 * @param codec     encoding name, for the score; values as emodel_values_of()
 *                  without format parameters
 * @param clock_hz  RTP clock of the codec
 */
void rtp_sender_init(struct rtp_sender *s, uint32_t ssrc, int64_t start_ns,
		     const char *codec, uint32_t clock_hz);

/**
 * What is sent from here on (a new answer). Packets of its payload type are
 * its audio, those of the payload type before are of the codec before; others
 * (telephone-event, comfort noise) are no audio.
 * @param p  audio; copied
 */
void rtp_sender_set_payload(struct rtp_sender *s, const struct rtp_payload *p);

/** One packet left (kind PACKET_RTP_SENT). */
void rtp_sender_update(struct rtp_sender *s, const struct packet_record *r);

/**
 * The peer reported on this stream. Blocks about another SSRC and blocks that
 * cannot be (a highest number never sent) are ignored and counted.
 * @param reporter      the SSRC of who reports
 * @param received_ntp  middle 32 bits of the NTP time of its arrival, clock of
 *                      our SRs
 * @return true: the block gave a round trip, *ret_rtt_ms written
 */
bool rtp_sender_report(struct rtp_sender *s, uint32_t reporter,
		       const struct rtcp_report *report, uint32_t received_ntp,
		       double *ret_rtt_ms);

/**
 * The peer's statistics summary (RFC 3611 4.6). Where its numbers end with
 * those of the source's last report block, its loss takes the place of the
 * block's, which counts duplicates as received (RFC 3550 6.4.1).
 * @param reporter  the SSRC of who reports
 */
void rtp_sender_summary(struct rtp_sender *s, uint32_t reporter,
			const struct rtcp_stat_summary *summary);

/** The peer answered our RRTR (RFC 3611 4.5). @return as rtp_sender_report() */
bool rtp_sender_dlrr(struct rtp_sender *s, const struct rtcp_dlrr *dlrr,
		     uint32_t received_ntp, double *ret_rtt_ms);

/** As rtp_stream_close_second(): packets and bytes from the sender; has_loss,
 * has_jitter, has_mos and has_rtt only if a report came in it that says so. */
void rtp_sender_close_second(struct rtp_sender *s, int64_t end_ns,
			     struct stream_second *ret);

void rtp_sender_total(const struct rtp_sender *s, struct stream_total *ret);

#endif
