/**
 * What RX, TX, audio and analysis tell each other: kinds of records beyond
 * those of media/analysis/record.h, RTCP, and what is left of a session at its
 * end. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_THREAD_RECORDS_H
#define OFFHOOK_MEDIA_THREAD_RECORDS_H

#include "media/analysis/record.h"
#include "media/analysis/rtcp.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A peer may send as soon as it has our offer, or while its answer is on the
 * way (RFC 3264 section 5.1): packets that came this long before the start
 * belong to the stream. The first second begins with them, so it is less than
 * one second. */
#define EARLY_NS INT64_C(900000000)

/** Private records in the rings of packets. */
enum {
	PACKET_REPORT_WANTED = PACKET_PRIVATE,
	/* in the ring of received ones */
	PACKET_SRTP_REFUSED, /* not authentic */
	PACKET_SRTP_REPLAYED,
	/* A digit was sent: seq its character, payload_bytes its ms (0: it was
	 * not), marker_pt enum digit_sent */
	PACKET_DIGIT_SENT,
	/* A file was played: marker_pt whether to its end */
	PACKET_PLAYED,
	/* The kernel refuses the peer's address: seq the errno, marker_pt
	 * whether it is RTCP's */
	PACKET_UNREACHABLE,
	/* The program of a tapped session sent it: as PACKET_RTP_SENT */
	PACKET_TAPPED_SENT,
	/* A telephone-event packet was received, besides its record: seq the
	 * event, payload_bytes its duration, marker_pt the E bit, lateness_us
	 * the clock rate */
	PACKET_EVENT_RECEIVED,
};

/* marker_pt of PACKET_REPORT_WANTED: the last report, which goes with BYE */
#define REPORT_FINAL 1

enum digit_sent {
	DIGIT_LAST = 1, /* of an order */
	DIGIT_TONE = 2, /* in the audio */
};

enum rtcp_event_kind {
	RTCP_EVENT_SEEN,   /* a valid compound packet came */
	RTCP_EVENT_SENDER, /* `ssrc` sent an SR with `lsr` */
	RTCP_EVENT_REPORT, /* `ssrc` reported on us */
	RTCP_EVENT_RRTR,   /* `ssrc` asks for a DLRR with `lsr` */
	RTCP_EVENT_DLRR,   /* `ssrc` answers our RRTR */
	RTCP_EVENT_VOIP,   /* metrics of `ssrc` about us */
	RTCP_EVENT_SUMMARY,
};

/** RX -> analysis: what a received RTCP packet said. */
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
	struct rtcp_report report; /* without dlsr */
	int64_t sr_ns; /* when the SR of report.lsr came; valid if lsr != 0 */
};

/** Analysis -> TX: what to put into the next RTCP packet. */
struct report_answer {
	uint32_t slot;
	uint32_t ssrc; /* ours: tells whether the slot is still the session's */
	bool final;    /* as REPORT_FINAL asked for */
	uint32_t members;
	uint32_t senders;
	uint32_t block_count;
	struct report_block blocks[RTCP_REPORTS_MAX];
	struct rtcp_xr xr; /* without RRTR, and without the delay of its DLRR */
	int64_t rrtr_ns;   /* when the RRTR of xr.dlrr came */
};

/**
 * The last words of RX, TX and audio about a session. Each thread writes its
 * own fields, sets its `done` with release, and touches the session no more;
 * others read the fields once they have seen `done` with acquire.
 */
struct session_end {
	/* number of the last record in the thread's ring that may be of the
	 * session */
	uint64_t rx_last_packet;
	uint64_t rx_last_rtcp;
	uint64_t tx_last_packet;
	uint64_t tx_packets;
	uint64_t tx_payload_bytes;
	/* payloads that did not reach the audio thread: [0] received, by RX;
	 * [1] sent, by TX, or by RX where the session is tapped */
	uint64_t audio_dropped[2];
	_Atomic bool rx_done;
	_Atomic bool tx_done;
	_Atomic bool audio_done;
};

#endif
