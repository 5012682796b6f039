/**
 * The analysis of one session: its received streams and the sent one, combined
 * into one second and one total per direction. It uses no clock, ring or
 * thread.
 * Thread: analysis.
 */
#ifndef OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H
#define OFFHOOK_MEDIA_MEASURE_MEASURE_SESSION_H

#include "base/prefetch.h"
#include "media/analysis/quality.h"
#include "media/analysis/rtcp_tap.h"
#include "media/analysis/stream.h"
#include "media/audio/codec.h"
#include "media/audio/dtmf_receive.h"
#include "media/command.h"
#include "media/thread_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Received streams (SSRCs) of a session measured at the same time; for more see
 * streams_find(). */
#define SESSION_STREAMS_MAX 4
/* A stream that was silent for this long may be replaced by another. It is more
 * than a second, so the stream has no packet in the open second. */
#define STREAM_ENDED_NS INT64_C(2000000000)

struct media_session;

/** Packets of a direction from before the start or after the end of the
 * session. */
struct measure_outside {
	uint64_t packets;
	uint64_t bytes;
};

/** A command to the analysis thread. */
struct measure_command {
	struct command_head head;
	struct measure_session *session;
	/* COMMAND_APPLY */
	/* valid until the next COMMAND_APPLY is done, or the session ends */
	const struct rtp_payload_map *map;
	uint8_t pt; /* payload type that we send with */
	const struct codec *codec;
	uint16_t ptime_ms;
	const char *suite_rx; /* SRTP suite, static; NULL: not encrypted */
	const char *suite_tx;
};

enum analysis_state {
	ANALYSIS_WAITING, /* not applied yet: packets are kept in early[] */
	ANALYSIS_RUNNING,
	ANALYSIS_STOPPING, /* until RX and TX have finished with it */
	ANALYSIS_CLOSING,  /* totals and MEDIA_RECORD_STOPPED are being
			    * published */
};

/* An SSRC replaces that which a tapped program sent before if so many packets in
 * succession are of it: the program may send two at a time for a while. */
#define TAPPED_SOURCE_PACKETS 10

/* Ended sources that are reported individually. */
#define SESSION_SOURCES_ENDED_MAX 12

/** A received stream of a session. */
struct measure_stream {
	_Alignas(PREFETCH_LINE) struct rtp_stream rtp;
	struct rtp_quality quality;
	int64_t first_ns; /* receive time of its first packet */
	bool has_sr;      /* a sender report of the source was received */
	uint32_t lsr;
	int64_t sr_ns;
	int64_t block_ns; /* rtp.seq.max_ns at our last report block; 0: none */
};

/** A further stream, with its rest. */
struct measure_further {
	struct measure_stream stream;
	struct rtp_rest rest;
};

/* Packets kept until the session starts, see EARLY_NS. */
#define EARLY_PACKETS_MAX 128

/** What only a tapped session has. */
struct measure_tapped {
	struct rtcp_tap rtcp;
	struct packet_record other; /* the first packet of another SSRC */
	unsigned other_count;       /* packets since then, if all are of it */
};

/** What nearly no session uses, in memory of its own that costs nothing until
 * it is touched. A new session has the contents of a released one: each part is
 * written whole before it is read. */
struct measure_seldom {
	union {
		/* before the start; oldest first */
		struct packet_record early[EARLY_PACKETS_MAX];
		/* after it; of the first stream */
		struct rtp_rest first_rest;
	};
	/* of the streams that were replaced; written by the first of them */
	struct {
		struct stream_total total;   /* sums */
		uint64_t most;               /* packets of the largest */
		struct stream_second second; /* not yet in a closed second */
	} ended;
	struct stream_source sources_ended[SESSION_SOURCES_ENDED_MAX];
	struct rtp_rest sender_rest;
	/* all streams but the first */
	struct measure_further further[SESSION_STREAMS_MAX - 1];
	struct measure_tapped tapped; /* tapped sessions only */
};

struct measure_session {
	/* constant */
	struct media_session *session; /* the session of the records */
	struct session_end *end;
	struct measure_seldom *seldom;
	uint32_t slot;
	uint32_t ssrc; /* ours */
	bool tapped;   /* media of another program */
	bool decodes;  /* the audio thread has a part in the session */
	/* cold */
	bool has_ended; /* seldom->ended is valid */
	uint32_t sources_ended_count;
	uint64_t sources_left_out; /* number of ended sources beyond
					    * sources_ended[] */
	size_t early_count;
	int64_t stop_ns;                   /* valid from ANALYSIS_STOPPING on */
	const struct rtp_payload_map *map; /* in force; borrowed from the
					    * command */
	bool has_rrtr; /* an RRTR that was not answered with a DLRR yet */
	struct rtcp_dlrr rrtr;
	int64_t rrtr_ns;
	/* received packets that belong to no stream: long before the start, or
	 * of more SSRCs than are measured */
	uint64_t stray_packets;
	uint64_t stray_bytes;
	uint64_t stray_packets_before; /* at the start of the open second */
	uint64_t stray_bytes_before;
	/* counted in the open second, though not from its time: in, out */
	struct measure_outside outside[2];
	const char *suite_in; /* SRTP suite; NULL: not encrypted */
	const char *suite_out;
	uint16_t ptime_ms; /* that we send with; 0: not settled */
	uint64_t srtp_refused;
	uint64_t srtp_replayed;
	uint64_t srtp_refused_before; /* at the start of the open second */
	uint64_t srtp_replayed_before;
	uint64_t published_in; /* packets in closed seconds */
	uint64_t published_out;
	const struct codec *codec; /* that we send with */
	uint8_t closing_step;
	uint32_t closing_source; /* index of the next source to report */
	/* hot: used for every received packet; one cache line, followed by the
	 * first stream */
	_Alignas(PREFETCH_LINE) enum analysis_state state;
	uint32_t running_at;    /* index in the list of running sessions */
	int64_t second_ns;      /* start of the open second */
	uint32_t stream_count;  /* the first one, then seldom->further[] */
	uint32_t stream_recent; /* index of the stream that received last */
	bool has_rtp;
	bool has_rtcp;
	struct dtmf_receive dtmf; /* hot: the first byte */
	/* Not cleared, like `seldom`: a new session contains what a freed one
	 * left here. Each part is written completely before it is read. */
	struct measure_stream first_stream;
	struct rtp_sender
		sender; /* by measure_session_start(), measure_session_never() */
};

/* First bytes of a measure_session, which are zero when it is created. */
#define MEASURE_SESSION_CLEARED_BYTES \
	offsetof(struct measure_session, first_stream)

/** An RTP packet arrived before the start: keep it. At most EARLY_PACKETS_MAX
 * are kept; older ones are stray. */
void measure_session_early(struct measure_session *a,
			   const struct packet_record *r);

/** The session ends without a start: the kept packets are stray. */
void measure_session_never(struct measure_session *a);

/** First settled parameters: the measurement starts at c->head.mono_ns. If packets
 * came at most EARLY_NS before, it starts with the first of them.
 * @param early  written: the kept packets, oldest first. The caller measures them
 * @return number of kept packets */
size_t measure_session_start(struct measure_session *a,
			     const struct measure_command *c,
			     struct packet_record early[EARLY_PACKETS_MAX]);

/** Parameters have changed after the start. */
void measure_session_apply(struct measure_session *a,
			   const struct measure_command *c);

/** The program of a tapped session sent an RTP packet. While it sends several
 * SSRCs the reports are about the first one; packets and bytes are of all. */
void measure_session_tapped(struct measure_session *a,
			    const struct packet_record *r);

/** Authentication of an SRTP packet failed, or it is a replay. In any state. */
void measure_session_srtp(struct measure_session *a,
			  const struct packet_record *r);

/** An RTP packet arrived. */
void measure_session_received(struct measure_session *a,
			      const struct packet_record *r);

/** An RTP packet was received or sent in ANALYSIS_STOPPING. If it is from after
 * the stop, the last second counts it but no rate does. */
void measure_session_late(struct measure_session *a,
			  const struct packet_record *r, bool outgoing);

/** An RTCP event. Round trips of a tapped session are those between the tap and
 * the peer, whatever the clock of the program.
 * @param received_ntp  middle 32 bits of the NTP time of its arrival, on the
 *                      clock of our SRs */
void measure_session_rtcp(struct measure_session *a,
			  const struct rtcp_event *event,
			  uint32_t received_ntp);

/** Fill in the content of the next RTCP packet: one block for each source heard
 * since the last one (RFC 3550 section 6.4), that of the source heard last
 * first. The next XR interval begins. */
void measure_session_report(struct measure_session *a,
			    struct report_answer *ret);

/**
 * Close the open second of the received streams. Counters are sums over all
 * streams; jitter, MOS and R are those of the stream with most packets in this
 * second.
 * @param end_ns  monotonic
 */
void measure_session_close_in(struct measure_session *a, int64_t end_ns,
			      struct stream_second *ret);

/** Close the open second of the sent stream, likewise. */
void measure_session_close_out(struct measure_session *a, int64_t end_ns,
			       struct stream_second *ret);

/** No more packets come: decide what depended on later packets. Call it once,
 * before the last second is closed. */
void measure_session_finish(struct measure_session *a);

/** @return something was counted since the last second was closed */
bool measure_session_second_open(struct measure_session *a);

/**
 * Get the n-th received source, in order of first packets.
 * @param n  from 0
 * @return false: there are no more
 */
bool measure_session_source(struct measure_session *a, uint32_t n,
			    struct stream_source *ret);

/**
 * Total of the received streams. Counters are sums over all streams and stray
 * packets. SSRC, codec, distributions, burst ratio and score are those of the
 * stream with most packets.
 */
void measure_session_total_in(struct measure_session *a,
			      struct stream_total *ret);

#endif
