/**
 * What the analysis keeps of one session: its received streams and the sent
 * one, put together into one second and one total a direction. No clock, ring
 * or thread in here.
 * Thread: analysis.
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H

#include "base/prefetch.h"
#include "media/analysis/quality.h"
#include "media/analysis/stream.h"
#include "media/audio/codec.h"
#include "media/audio/dtmf_receive.h"
#include "media/command.h"
#include "media/thread_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Received streams (SSRCs) of one session that are measured at a time; see
 * streams_find() for what happens to more. */
#define SESSION_STREAMS_MAX 4
/* A stream that was silent for so long makes room for another. More than a
 * second: it has no packet in the open one. */
#define STREAM_ENDED_NS INT64_C(2000000000)

struct media_session;

/** A command to the analysis thread. */
struct measure_command {
	struct command_head head;
	struct measure_session *session;
	/* COMMAND_APPLY */
	const struct rtp_payload_map *map;
	uint8_t pt; /* that we send with */
	const struct codec *codec;
	uint16_t ptime_ms;
	const char *suite_rx; /* static text; NULL: plain */
	const char *suite_tx;
};

enum analysis_state {
	ANALYSIS_WAITING, /* not applied yet: packets are kept, see early[] */
	ANALYSIS_RUNNING,
	ANALYSIS_STOPPING, /* until RX and TX are done with it */
	ANALYSIS_CLOSING,  /* totals and STOPPED on their way */
};

/* Sources that made room for others, which are told of one by one. */
#define SESSION_SOURCES_ENDED_MAX 12

/** A received stream of a session. */
struct measure_stream {
	_Alignas(PREFETCH_LINE) struct rtp_stream rtp;
	struct rtp_quality quality;
	int64_t first_ns; /* its first packet */
	bool has_sr;      /* the source's last sender report */
	uint32_t lsr;
	int64_t sr_ns;
	int64_t block_ns; /* rtp.seq.max_ns of our last report block; 0: none */
};

/* Packets that are kept until the session starts, see EARLY_NS. */
#define EARLY_PACKETS_MAX 128

struct measure_session {
	/* constant */
	struct media_session *session; /* whom the records are about */
	struct session_end *end;
	uint32_t slot;
	uint32_t ssrc; /* ours */
	bool tapped;   /* media of another program */
	bool decodes;  /* the audio thread has a part in it */
	/* cold */
	struct stream_total ended; /* streams that made room: as one */
	uint64_t ended_most;       /* packets of the largest of them */
	uint32_t sources_ended_count;
	uint64_t sources_left_out;         /* ended ones beyond */
	struct stream_second ended_second; /* what no second has told of them */
	size_t early_count;
	int64_t stop_ns; /* valid from ANALYSIS_STOPPING on */
	unsigned map;    /* which of maps[] is in force */
	bool has_rrtr;   /* a request for a DLRR that is not answered yet */
	struct rtcp_dlrr rrtr;
	int64_t rrtr_ns;
	/* received, in none of the streams: long before the start, more SSRCs
	 * than are measured */
	uint64_t stray_packets;
	uint64_t stray_bytes;
	uint64_t stray_packets_before; /* at the start of the second */
	uint64_t stray_bytes_before;
	const char *suite_in; /* SRTP; NULL: plain */
	const char *suite_out;
	uint16_t ptime_ms; /* that we send with; 0: nothing settled */
	uint64_t srtp_refused;
	uint64_t srtp_replayed;
	uint64_t srtp_refused_before; /* at the start of the second */
	uint64_t srtp_replayed_before;
	uint64_t published_in; /* packets in closed seconds */
	uint64_t published_out;
	const struct codec *codec; /* being sent */
	uint8_t closing_step;
	uint32_t closing_source; /* the next one to tell of */
	/* hot: every received packet; one cache line, the first of streams[]
	 * follows */
	_Alignas(PREFETCH_LINE) enum analysis_state state;
	uint32_t running_at;    /* place in the list of running sessions */
	int64_t second_ns;      /* start of the open second */
	uint32_t stream_count;  /* of streams[] */
	uint32_t stream_recent; /* last one that received */
	bool has_rtp;
	bool has_rtcp;
	struct dtmf_receive dtmf; /* hot: the first byte */
	/* From here on a new session has the contents of a released one: each
	 * part is written whole before it is read. That is two thirds of a
	 * session which the loop need not clear for each call. */
	struct measure_stream streams[SESSION_STREAMS_MAX]; /* stream_count */
	struct rtp_sender
		sender; /* by measure_session_start(), measure_session_never() */
	struct stream_source sources_ended[SESSION_SOURCES_ENDED_MAX];
	struct packet_record early[EARLY_PACKETS_MAX]; /* oldest first */
	struct rtp_payload_map maps[2]; /* by measure_session_start() */
};

/* Of a measure_session: all zero when it is made. */
#define MEASURE_SESSION_CLEARED_BYTES offsetof(struct measure_session, streams)

/** An RTP packet came before the start: kept for it, at most
 * EARLY_PACKETS_MAX of them, else stray. */
void measure_session_early(struct measure_session *a,
			   const struct packet_record *r);

/** There will be no start: what was kept is stray. */
void measure_session_never(struct measure_session *a);

/** First settled parameters: the measurement starts at c->head.mono_ns, or with the
 * first packet of the EARLY_NS before. The caller takes a->early then. */
void measure_session_start(struct measure_session *a,
			   const struct measure_command *c);

/** Later ones. */
void measure_session_apply(struct measure_session *a,
			   const struct measure_command *c);

/** The program of a tapped session sent an RTP packet. */
void measure_session_tapped(struct measure_session *a,
			    const struct packet_record *r);

/** An SRTP packet was not authentic, or seen before. In any state. */
void measure_session_srtp(struct measure_session *a,
			  const struct packet_record *r);

/** An RTP packet came. */
void measure_session_received(struct measure_session *a,
			      const struct packet_record *r);

/** RTCP came. @param received_ntp  middle bits of our SRs' clock at arrival */
void measure_session_rtcp(struct measure_session *a,
			  const struct rtcp_event *event,
			  uint32_t received_ntp);

/** Fill what the next RTCP packet shall say: a block for each source heard
 * since the last one (RFC 3550 6.4), first that of the source heard last; the
 * next XR interval begins. */
void measure_session_report(struct measure_session *a,
			    struct report_answer *ret);

/**
 * Close the open second of what was received. Counters are the sums over all
 * streams; jitter, MOS and R are of the stream with most packets in it.
 */
void measure_session_close_in(struct measure_session *a, int64_t end_ns,
			      struct stream_second *ret);

/** Nothing more comes: what was open until more packets came is final. Once,
 * before the last second is closed. */
void measure_session_finish(struct measure_session *a);

/** Something was counted since the last second was closed. */
bool measure_session_second_open(struct measure_session *a);

/**
 * The n-th source of what was received, by the time of its first packet.
 * @param n  0 and up
 * @return false: there are no more
 */
bool measure_session_source(struct measure_session *a, uint32_t n,
			    struct stream_source *ret);

/**
 * Total of what was received. Counters are the sums over all streams and
 * packets of none; SSRC, codec, distributions, burst ratio and score are of
 * the stream with most packets.
 */
void measure_session_total_in(struct measure_session *a,
			      struct stream_total *ret);

#endif
