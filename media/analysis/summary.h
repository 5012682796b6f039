/**
 * Results of the measurement of one stream, as plain data: the only header of
 * media/analysis that the wire and the controller may include. Every figure
 * that may be unknown has a presence bit.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SUMMARY_H
#define OFFHOOK_MEDIA_ANALYSIS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Distribution of a set of samples. Percentiles are linearly interpolated at
 * p*(n-1); the standard deviation is that of the population. */
struct distribution {
	uint64_t n; /* 0: no other member is valid */
	double min;
	double max;
	double avg;
	double median;
	double p75;
	double p90;
	double p95;
	double stddev;
};

/** The peer's VoIP metrics (RFC 3611 section 4.7) about a stream we send: since
 * its start, behind the peer's own buffer. */
struct remote_voip {
	bool known;
	double loss_pct;
	double discard_pct;
	double burst_density_pct;
	double gap_density_pct;
	double burst_duration_ms;
	double gap_duration_ms;
	bool has_rtt;
	double rtt_ms;
	bool has_delay;
	double delay_ms; /* of the peer's end system */
	bool has_r_factor;
	double r_factor;
	bool has_mos_lq;
	double mos_lq; /* steps of 0.1 */
	bool has_mos_cq;
	double mos_cq;
	bool has_buffer;
	double buffer_ms; /* nominal */
};

/** The peer's statistics summary (RFC 3611 section 4.6) about packets since the
 * last one. For a whole stream: sums; of the jitter: extremes, mean of the
 * means, largest deviation. */
struct remote_summary {
	bool known;
	bool has_lost;
	uint64_t lost;
	bool has_duplicates;
	uint64_t duplicates;
	bool has_jitter; /* |D|, the change of the transit time */
	double jitter_min_ms;
	double jitter_max_ms;
	double jitter_mean_ms;
	double jitter_dev_ms;
};

/* No rate is made of a shorter time: one packet more or less would change it by
 * more than two a second. */
#define STREAM_RATE_NS_MIN INT64_C(500000000)

/** One second of one stream in one direction. Counters are those of this
 * second. */
struct stream_second {
	int64_t start_ns;    /* monotonic */
	int64_t duration_ns; /* the last second of a stream may be shorter */
	uint64_t packets;    /* on the wire: received + duplicates + stray */
	uint64_t bytes;      /* RTP header + payload of those packets */
	/* part of them that came before the first second or after the last one
	 * of the session: it is in no rate */
	uint64_t outside_packets;
	uint64_t outside_bytes;
	uint64_t expected; /* valid if has_loss */
	int64_t lost;      /* < 0: a packet counted as lost in an earlier second
		       * arrived */
	uint64_t duplicates;
	uint64_t reordered;
	bool has_loss; /* `out`: only if a report of the peer was received */
	/* `out`: lost packets a second of the time that the reports cover, which
	 * is that since the report before; sum over the reporting sources */
	bool has_lost_rate;
	double lost_per_s;
	bool has_jitter;
	double jitter_ms; /* RFC 3550 A.8 value at the end of the second */
	bool has_rtt;
	double rtt_ms; /* last RTCP round-trip time in the second */
	bool has_mos;
	double mos; /* G.107 over the last 8 s */
	double r_factor;
	bool has_mos_wb;
	double mos_wb; /* the same, on the wideband scale of G.107.1 */
	/* received streams, behind the model of a fixed de-jitter buffer */
	bool has_quality;
	uint64_t discarded;    /* by the model */
	uint64_t burst_lost;   /* lost or discarded in bursts (RFC 3611 section
				* 4.7.2) that ended in this second */
	uint64_t out_of_order; /* packets with a lower number than the one
				* before */
	bool has_gap;
	double gap_ms; /* longest time between two audio packets, without the
			* sender's pauses */
	/* sent streams */
	bool has_lateness;
	double lateness_ms;     /* maximum in the second, sent minus due */
	bool has_srtp;          /* `in`: the session is encrypted */
	uint64_t srtp_refused;  /* authentication failed: dropped */
	uint64_t srtp_replayed; /* authentic but received before */
	struct remote_voip voip;
	struct remote_summary summary;
};

/** A received stream behind the model of a de-jitter buffer. */
struct stream_buffer {
	bool known;
	uint64_t discarded;
	double delay_ms; /* mean time for which a packet is delayed */
	/* RFC 3611 section 4.7.2, over lost and discarded packets */
	uint64_t burst_lost; /* lost or discarded in bursts */
	double burst_density_pct;
	double gap_density_pct;
	double burst_duration_ms; /* mean */
	double gap_duration_ms;
	double burst_ratio;
	bool has_score;    /* with discards, burst ratio and delay */
	double ta_ms;      /* delay used for the score */
	bool has_network;  /* the delay of the network is known and included */
	double network_ms; /* half of the mean round-trip time */
	double r_factor;
	double mos;
};

/** Source of the loss of a sent stream. A report block counts duplicates as
 * received (RFC 3550 section 6.4.1), so its loss may be negative; a statistics
 * summary (RFC 3611 section 4.6) does not. */
enum stream_lost_by {
	STREAM_LOST_OURS, /* received streams: numbers that did not arrive */
	STREAM_LOST_RR,
	STREAM_LOST_RR_XR, /* some of both */
	STREAM_LOST_XR,
};

/** One stream over its whole life. */
struct stream_total {
	uint32_t ssrc;
	char codec[16];
	uint32_t clock_hz; /* RTP clock; 0: unknown */
	bool has_ptime;
	double ptime_ms; /* last packet time */
	uint64_t packets;
	uint64_t bytes; /* RTP header + payload */
	bool has_loss;
	uint64_t received;
	uint64_t expected;
	int64_t lost;
	enum stream_lost_by lost_by;
	bool has_duplicates; /* `out`: known from a statistics summary */
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t stray;
	/* received: sources included in the sums but not reported
	 * individually */
	uint64_t sources_left_out;
	double loss_pct;               /* 100 * lost / expected */
	double burst_ratio;            /* G.107 clause 7.5; 1 without loss */
	struct distribution jitter_ms; /* J after every packet */
	struct distribution rtt_ms;    /* all RTCP round-trip times */
	struct distribution mos;       /* MOS of all seconds */
	bool has_score;                /* R and MOS of the whole stream */
	double r_factor;
	double mos_total;
	const char *no_score_reason; /* static text; NULL if has_score */
	bool has_mos_wb;
	double mos_wb;           /* of the whole stream, wideband scale */
	const char *score_scale; /* "nb", "wb", "fb"; static; NULL: none */
	/* static: origin of the codec's values if they are not from a standard;
	 * NULL: they are from G.113 */
	const char *score_declared;
	bool has_quality; /* received streams */
	uint64_t out_of_order;
	bool has_gap;
	double gap_max_ms;
	bool has_skew;   /* `in`: more than 4 s with one timing reference */
	double skew_ppm; /* of the sender's clock; positive: it is fast */
	struct stream_buffer fixed;
	struct stream_buffer adaptive;
	bool has_lateness; /* sent streams */
	double lateness_max_ms;
	/* sent streams: from the last report block */
	bool has_reach;
	uint32_t reporter_ssrc;
	uint32_t reported_ext_seq; /* extended highest sequence number */
	uint64_t unreported;       /* numbers sent after that one */
	const char *srtp_suite;    /* static; NULL: not encrypted */
	uint64_t srtp_refused;     /* `in`: see stream_second */
	uint64_t srtp_replayed;
	struct remote_voip voip; /* last block */
	struct remote_summary summary;
};

/** One source (SSRC) of a received direction: its own figures, while the
 * session's total has sums over all sources and figures of the largest. */
struct stream_source {
	uint32_t ssrc;
	char codec[16];   /* of most of its audio packets; "": unknown */
	int64_t first_ns; /* monotonic: arrival of its first packet */
	int64_t last_ns;  /* arrival of the packet with its highest number */
	uint64_t packets;
	bool has_loss;
	uint64_t received;
	uint64_t expected;
	int64_t lost;
	uint64_t duplicates;
	double loss_pct;
	bool has_jitter;
	double jitter_avg_ms; /* J after every packet */
	double jitter_max_ms;
	bool has_score;
	double r_factor;
	double mos;
	const char *no_score_reason; /* static; NULL if has_score */
	const char *score_scale;     /* static; NULL: no score */
};

/* Maximum of different tones per stream. */
#define AUDIO_TONES_MAX 8

/** A tone, measured in blocks of 100 ms that consist of it. */
struct audio_tone {
	double hz;
	double dbov;
	double ms;
};

/** One second of decoded audio of one direction. Levels in dBov (RFC 6464
 * section 3): 0 is the power of a square wave of full scale. */
struct audio_second {
	int64_t start_ns;
	int64_t duration_ns;
	bool has_level;     /* there were samples */
	double level_dbov;  /* mean power of all samples, at least -96 */
	double peak_dbov;   /* of the largest sample */
	double clipped_pct; /* consecutive samples at full scale */
	bool expected;      /* the direction had to carry audio for the whole
			     * second */
	double heard_ms;    /* duration of frames that were not silent */
	struct audio_tone tone; /* last tone; ms 0: none */
	bool has_delay;         /* `in`: a marker was received */
	double delay_ms;        /* delay of the last marker */
};

/** Decoded audio of one direction over its whole life. */
struct audio_total {
	double expected_ms; /* time in which it had to carry audio, by
			     * direction */
	double heard_ms;
	double silence_max_ms; /* longest silence while audio was expected */
	bool has_level;        /* something was heard */
	double level_dbov;     /* mean power of what was heard */
	double peak_dbov;
	double clipped_pct;
	double one_way_ms; /* `in`: longest time, in whole seconds, in which we
			    * sent sound and heard none */
	/* `in`, if markers were looked for: their delay */
	uint64_t markers;
	double delay_min_ms;
	double delay_avg_ms;
	double delay_max_ms;
	/* `in`, if a prompt was expected */
	bool has_match;  /* there was sound to compare */
	double match;    /* 0..1: correlation with the prompt */
	double match_ms; /* duration of sound that is the prompt */
	bool has_match_begin;
	double match_begin_ms; /* from the time when audio was expected to the
				* prompt's first sample */
	struct audio_tone tones[AUDIO_TONES_MAX]; /* in order of appearance */
	size_t tone_count;
	uint64_t packets;       /* decoded */
	uint64_t late;          /* arrived after a newer one, not decoded */
	uint64_t undecodable;   /* refused by the decoder, or unknown payload
			       * type */
	uint64_t recovered;     /* lost packets of which the next one had a
			       * copy */
	uint64_t noise_packets; /* comfort noise (RFC 3389) */
	double noise_dbov;      /* level of the last one; valid if noise_packets
				 * > 0 */
	uint64_t dropped;       /* lost between our threads */
};

#endif
