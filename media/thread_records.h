/**
 * Records between the RX, TX, audio and analysis threads: kinds of packet
 * records beyond those of media/analysis/record.h, RTCP events, and the final
 * counts of a session. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_THREAD_RECORDS_H
#define OFFHOOK_MEDIA_THREAD_RECORDS_H

#include "media/analysis/record.h"
#include "media/analysis/rtcp.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A peer may send as soon as it has our offer, or while its answer is on the
 * way (RFC 3264 section 5.1). Packets that arrived this long before the start
 * belong to the stream. The first second begins with them and is therefore
 * shorter. */
#define EARLY_NS INT64_C(900000000)

/** Kinds of private records in the rings of packets. */
enum {
	PACKET_REPORT_WANTED = PACKET_PRIVATE,
	/* in the ring of received packets */
	PACKET_SRTP_REFUSED, /* authentication failed */
	PACKET_SRTP_REPLAYED,
	/* A digit was sent: seq is the character, payload_bytes its duration in
	 * ms (0: not sent), marker_pt enum digit_sent */
	PACKET_DIGIT_SENT,
	/* A file was played: marker_pt 1: to its end */
	PACKET_PLAYED,
	/* The kernel refuses the peer's address: seq is the errno, marker_pt 1:
	 * the RTCP address */
	PACKET_UNREACHABLE,
	/* Sent by the program of a tapped session; fields as of
	 * PACKET_RTP_SENT */
	PACKET_TAPPED_SENT,
	/* Content of a telephone-event packet, in addition to its packet
	 * record: seq is the event, payload_bytes its duration, marker_pt the E
	 * bit, lateness_us the clock rate */
	PACKET_EVENT_RECEIVED,
};

/* marker_pt of PACKET_REPORT_WANTED: the last report, sent with the BYE */
#define REPORT_FINAL 1

enum digit_sent {
	DIGIT_LAST = 1, /* the last digit of its order */
	DIGIT_TONE = 2, /* sent as a tone in the audio */
};

enum rtcp_event_kind {
	RTCP_EVENT_SEEN,   /* a valid compound packet arrived */
	RTCP_EVENT_SENDER, /* `ssrc` sent an SR with NTP middle bits `lsr` */
	RTCP_EVENT_REPORT, /* `ssrc` sent a report block about us */
	RTCP_EVENT_RRTR,   /* `ssrc` sent an RRTR: answer with a DLRR containing
			    * `lsr` */
	RTCP_EVENT_DLRR,   /* `ssrc` answered our RRTR */
	RTCP_EVENT_VOIP,   /* `ssrc` sent VoIP metrics about us */
	RTCP_EVENT_SUMMARY,
	/* a tapped program: its `ssrc` sent an SR or RRTR with NTP middle bits
	 * `lsr` */
	RTCP_EVENT_TAPPED_SENT,
};

/** RX -> analysis: content of a received RTCP packet, or of one that a tapped
 * program sent. */
struct rtcp_event {
	int64_t mono_ns; /* kernel's receive time */
	uint32_t slot;
	uint32_t ssrc;
	enum rtcp_event_kind kind;
	uint32_t lsr;
	union {
		struct rtcp_report report;
		struct rtcp_dlrr dlrr;
		struct rtcp_voip_metrics voip;
		struct rtcp_stat_summary summary;
	} u;
};

/** A report block about one source. */
struct report_block {
	struct rtcp_report report; /* without DLSR */
	int64_t sr_ns; /* receive time of the SR of report.lsr; valid if lsr !=
			* 0 */
};

/** Analysis -> TX: content of the next RTCP packet. */
struct report_answer {
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot still belongs to this
			* session */
	bool final;    /* answers a REPORT_FINAL request */
	uint32_t members;
	uint32_t senders;
	uint32_t block_count;
	struct report_block blocks[RTCP_REPORTS_MAX];
	struct rtcp_xr xr; /* without RRTR; the DLRR without its delay */
	int64_t rrtr_ns;   /* receive time of the RRTR that xr.dlrr answers */
};

/**
 * Final counts of RX, TX and audio about a session. Each thread writes its own
 * fields, sets its `done` with release, and does not touch the session again.
 * Others read the fields after they have seen `done` with acquire.
 */
struct session_end {
	/* number of the last record in the thread's ring that may belong to the
	 * session */
	uint64_t rx_last_packet;
	uint64_t rx_last_rtcp;
	uint64_t tx_last_packet;
	uint64_t tx_packets;
	uint64_t tx_payload_bytes;
	/* payloads that did not reach the audio thread: [0] received, counted
	 * by RX; [1] sent, counted by TX, or by RX if the session is tapped */
	uint64_t audio_dropped[2];
	_Atomic bool rx_done;
	_Atomic bool tx_done;
	_Atomic bool audio_done;
};

#endif
